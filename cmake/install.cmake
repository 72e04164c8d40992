# SPDX-License-Identifier: MIT
# Both libraries, the headers, vigil.pc, the CMake package, and the command if it was built. Everything finds its neighbours relative to itself,
# so an installed tree may be moved, and `cmake --install --prefix` may choose another place than the configuration did.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vigil)

install(TARGETS vigil vigil-static EXPORT vigil-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vigil)
# Each is compiled by those who include it, with the library that it adapts.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/vigil/adapters DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vigil FILES_MATCHING PATTERN "*.h")
# gdb's commands: `source` it, or link it to a place that gdb loads by itself.
install(FILES ${PROJECT_SOURCE_DIR}/gdb/libvigil-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/vigil)
if(TARGET vigil-command)
    install(TARGETS vigil-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/vigil.bash RENAME vigil
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/_vigil DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/vigil.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
# The manual, where `make docs` has made it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
# What `make` builds: the library and the command.
add_custom_target(library-and-command DEPENDS vigil vigil-static $<TARGET_NAME_IF_EXISTS:vigil-command>)
# What has to be built before `cmake --install`: the libraries beside it too.
add_custom_target(installed DEPENDS vigil vigil-static $<TARGET_NAME_IF_EXISTS:vigil-command> $<TARGET_NAME_IF_EXISTS:vigil-js>
                                    $<TARGET_NAME_IF_EXISTS:vigil-jobs> $<TARGET_NAME_IF_EXISTS:vigil-jobs-static>
                                    $<TARGET_NAME_IF_EXISTS:vigil-jobs-pq> $<TARGET_NAME_IF_EXISTS:vigil-jobs-pq-static>
                                    $<TARGET_NAME_IF_EXISTS:vigil-http> $<TARGET_NAME_IF_EXISTS:vigil-http-static>
                                    $<TARGET_NAME_IF_EXISTS:vigil-tls> $<TARGET_NAME_IF_EXISTS:vigil-tls-static>
                                    $<TARGET_NAME_IF_EXISTS:vigil-dns> $<TARGET_NAME_IF_EXISTS:vigil-dns-static>
                                    $<TARGET_NAME_IF_EXISTS:vigil-js-static> $<TARGET_NAME_IF_EXISTS:vigil-js-run>
                                    $<TARGET_NAME_IF_EXISTS:vigil-js-repl>)
install(EXPORT vigil-targets NAMESPACE vigil:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vigil-config.cmake.in
                              ${PROJECT_BINARY_DIR}/vigil-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vigil-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vigil-config.cmake ${PROJECT_BINARY_DIR}/vigil-config-version.cmake
        DESTINATION ${package_dir})

# Absolute directories (some distributions set them) stay as they are in vigil.pc; relative ones follow the file.
set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
        set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/vigil.pc.in ${PROJECT_BINARY_DIR}/vigil.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/vigil.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(name IN ITEMS vigil-jobs vigil-jobs-pq) # OPTIONAL as the libraries themselves
    if(TARGET ${name})
        set(pc_private "sqlite3")
        set(pc_words "Jobs that outlive the process, on SQLite")
        if(name STREQUAL "vigil-jobs-pq")
            set(pc_private "libpq")
            set(pc_words "The PostgreSQL engine of vigil-jobs; loaded by it, or linked statically")
        endif()
        set(pc_name ${name})
        configure_file(${CMAKE_CURRENT_LIST_DIR}/vigil-jobs.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig OPTIONAL)
        install(FILES ${CMAKE_CURRENT_LIST_DIR}/vigil-jobs.cmake DESTINATION ${package_dir} OPTIONAL)
    endif()
endforeach()
# The libraries on top of streams: what each needs besides, and its words.
set(pc_private_http "")
set(pc_words_http "HTTP/1.1 on Vigil's streams: server and client")
set(pc_private_tls "openssl >= 3")
set(pc_private_dns ${VIGIL_DNS_NEEDS})
set(pc_words_dns "Names to addresses on Vigil's loop")
set(pc_words_tls "TLS on Vigil's streams, with OpenSSL")
foreach(room IN ITEMS http tls dns)
    if(TARGET vigil-${room})
        set(pc_name vigil-${room})
        set(pc_private ${pc_private_${room}})
        set(pc_words ${pc_words_${room}})
        configure_file(${CMAKE_CURRENT_LIST_DIR}/vigil-jobs.pc.in ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig OPTIONAL)
        install(FILES ${CMAKE_CURRENT_LIST_DIR}/vigil-net.cmake DESTINATION ${package_dir} OPTIONAL)
    endif()
endforeach()
if(TARGET vigil-js) # OPTIONAL as the library itself
    configure_file(${CMAKE_CURRENT_LIST_DIR}/vigil-js.pc.in ${PROJECT_BINARY_DIR}/vigil-js.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/vigil-js.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig OPTIONAL)
endif()
