# SPDX-License-Identifier: MIT
# find_package(vigil COMPONENTS http tls dns): offers vigil::http, vigil::tls and vigil::dns, the shared libraries beside this file's package.
get_filename_component(vigil_libdir ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
foreach(room IN ITEMS http tls dns)
    if(NOT TARGET vigil::${room})
        string(TOUPPER ${room} vigil_room)
        find_library(VIGIL_${vigil_room}_LIBRARY vigil-${room} PATHS ${vigil_libdir} NO_DEFAULT_PATH)
        mark_as_advanced(VIGIL_${vigil_room}_LIBRARY)
        if(VIGIL_${vigil_room}_LIBRARY)
            add_library(vigil::${room} SHARED IMPORTED)
            set_target_properties(vigil::${room} PROPERTIES IMPORTED_LOCATION ${VIGIL_${vigil_room}_LIBRARY}
                                  INTERFACE_LINK_LIBRARIES vigil::vigil)
            set(vigil_${room}_FOUND TRUE)
        endif()
    endif()
endforeach()
