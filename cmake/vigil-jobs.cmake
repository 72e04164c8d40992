# SPDX-License-Identifier: MIT
# find_package(vigil COMPONENTS jobs): offers vigil::jobs, the shared library beside this file's package.
if(NOT TARGET vigil::jobs)
    get_filename_component(vigil_libdir ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
    find_library(VIGIL_JOBS_LIBRARY vigil-jobs PATHS ${vigil_libdir} NO_DEFAULT_PATH)
    mark_as_advanced(VIGIL_JOBS_LIBRARY)
    if(VIGIL_JOBS_LIBRARY)
        add_library(vigil::jobs SHARED IMPORTED)
        set_target_properties(vigil::jobs PROPERTIES IMPORTED_LOCATION ${VIGIL_JOBS_LIBRARY} INTERFACE_LINK_LIBRARIES vigil::vigil)
        set(vigil_jobs_FOUND TRUE)
    endif()
endif()
