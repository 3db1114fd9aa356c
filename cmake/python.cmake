# SPDX-License-Identifier: BSD-3-Clause
# Target tenon_python: the library of the Python package, build/python/libtenon.so. It holds OpenBLAS, jansson, libjpeg,
# libpng and zlib, needs the C library alone, shows tn_* alone, and so gets on with any BLAS that NumPy has loaded.
# Without the archives, or with TENON_OWN_BLAS=OFF, it needs the shared libraries of the system.
option(TENON_OWN_BLAS "the library of the Python package carries its own BLAS" ON)

add_library(tenon_python SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tenon_objects>)
set_target_properties(tenon_python PROPERTIES OUTPUT_NAME tenon LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python)
target_link_libraries(tenon_python PRIVATE tenon_flags)

set(archives)
set(missing)
foreach(name openblas jansson jpeg png z)
  string(TOUPPER ${name} upper)
  find_library(TENON_${upper}_ARCHIVE lib${name}.a HINTS ${OPENBLAS_LIBRARY_DIRS} ${OPENBLAS_LIBDIR})
  mark_as_advanced(TENON_${upper}_ARCHIVE)
  if(TENON_${upper}_ARCHIVE)
    list(APPEND archives ${TENON_${upper}_ARCHIVE})
  else()
    list(APPEND missing lib${name}.a)
  endif()
endforeach()

if(TENON_OWN_BLAS AND NOT missing)
  target_sources(tenon_python PRIVATE python/own_blas.c)
  target_include_directories(tenon_python PRIVATE include src)
  target_link_libraries(tenon_python PRIVATE ${archives} Threads::Threads m)
  target_link_options(tenon_python PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/python.map -Wl,-Bsymbolic
                      -Wl,--defsym=stdin=tnp_no_stream
                      -Wl,--defsym=stderr=tnp_error_stream -Wl,--no-undefined -Wl,-s)
else()
  if(TENON_OWN_BLAS)
    message(STATUS "the Python package will use the system's BLAS: no ${missing}")
  endif()
  target_link_libraries(tenon_python PRIVATE ${TENON_DEPENDENCIES})
endif()
