# SPDX-License-Identifier: BSD-3-Clause
# Makes a C file of files: cmake -DOUT=x.c -DFILES=a.css;b.js -P embed.cmake. A file page.css becomes the bytes tnp_page_css and
# their number tnp_page_css_size. Bytes and not a text: the standard promises no more than 4095 characters of one.
set(text "/* Made by cmake/embed.cmake. */\n#include \"report/page/page.h\"\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes ${bytes})
  string(APPEND text "\nconst unsigned char tnp_${name}[] = {\n${bytes}};\n"
                     "const size_t tnp_${name}_size = sizeof tnp_${name};\n")
endforeach()
file(WRITE ${OUT} "${text}")
