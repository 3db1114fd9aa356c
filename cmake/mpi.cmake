# SPDX-License-Identifier: BSD-3-Clause
# libtenon_mpi.so, the plug-in by which several processes share their rows (docs/scale.md): built where MPI is found,
# loaded by the library when it was started by mpirun. Nothing else is linked with MPI. Another MPI than the system's
# default: -DMPI_C_COMPILER=mpicc.mpich.
option(TENON_MPI "build the plug-in for MPI where there is one" ON)
if(TENON_MPI AND NOT TENON_FUZZ)
  find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
  add_library(tenon_mpi MODULE plugins/team_mpi.c)
  target_include_directories(tenon_mpi PRIVATE include src)
  target_link_libraries(tenon_mpi PRIVATE MPI::MPI_C tenon_flags)
  if(TARGET tenon_program)
    add_dependencies(tenon_program tenon_mpi) # so that build/tenon finds it beside itself
  endif()
  install(TARGETS tenon_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
