# SPDX-License-Identifier: MIT
# cmake -DOUTPUT=assets.c -DNAME=assets -DASSETS="/path|type|file;..." -P embed.cmake: files as C arrays, for asset.h's tables,
# each with a zero behind it that its length does not count.
set(text "#include \"asset.h\"\n\n")
set(table "")
set(number 0)
foreach(asset IN LISTS ASSETS)
    string(REPLACE "|" ";" parts "${asset}")
    list(GET parts 0 path)
    list(GET parts 1 type)
    list(GET parts 2 file)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char asset${number}[] = {\n${bytes}\n0};\n\n")
    string(APPEND table "    {\"${path}\", \"${type}; charset=utf-8\", asset${number}, sizeof asset${number} - 1},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "${text}const struct asset ${NAME}[] = {\n${table}    {0},\n};\n")
