# SPDX-License-Identifier: MIT
# vigil_units(target source...): those sources of the target are compiled eight at a time, as one unit each. That takes a third of
# the time, and `make` takes fewer steps. For rooms of src that no short path goes through: all of src is clean as one unit (`scripts/lint unit`).
# The rest of the target is compiled file by file; so is what another library of the same program may bring along, which the linker must
# be able to leave out.
#
# compile_commands.json would lose the files inside of units: <target>-each, which nobody builds, has a command for each.

set(vigil_unit_size 8)

function(vigil_units target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE) # the first file of a unit would decide it for all
    set(index 0)
    foreach(source IN LISTS ARGN)
        math(EXPR unit "${index} / ${vigil_unit_size}")
        math(EXPR index "${index} + 1")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${unit})
    endforeach()

    add_library(${target}-each OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_include_directories(${target}-each PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target}-each PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_compile_options(${target}-each PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
endfunction()
