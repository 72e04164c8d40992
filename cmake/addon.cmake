# SPDX-License-Identifier: MIT
# vigil_addon(name header [imported target...]): a library on top of libvigil, in the current folder: all its .c files, <name>.map,
# both forms, and the header's installation.
if(COMMAND vigil_addon)
    return()
endif()
function(vigil_addon name header)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    set(map ${CMAKE_CURRENT_SOURCE_DIR}/${name}.map)
    add_library(${name}-objects OBJECT ${sources})
    vigil_warnings(${name}-objects)
    set_target_properties(${name}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_include_directories(${name}-objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(${name}-objects PRIVATE _GNU_SOURCE)
    target_link_libraries(${name}-objects PRIVATE ${ARGN})
    add_library(${name} SHARED $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${map})
    target_link_options(${name} PRIVATE -Wl,--version-script=${map})
    add_library(${name}-static STATIC $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name}-static PROPERTIES OUTPUT_NAME ${name})
    target_link_libraries(${name} PRIVATE vigil ${ARGN} Threads::Threads)
    target_link_libraries(${name}-static PUBLIC vigil-static ${ARGN} Threads::Threads)
    foreach(library IN ITEMS ${name} ${name}-static)
        set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
        target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    endforeach()
    if(VIGIL_INSTALL)
        # OPTIONAL: `cmake --install` of a build of other targets goes through without it.
        install(TARGETS ${name} ${name}-static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
                ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
        install(FILES ${PROJECT_SOURCE_DIR}/include/vigil/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vigil)
    endif()
endfunction()
