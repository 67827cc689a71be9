# Files of one folder are compiled several at a time: most of what a file costs is reading and instantiating what its
# neighbours need as well, so a whole build takes two thirds of the time. A change then costs its neighbours, too:
# who edits a lot configures with -DTROUPE_UNITY=OFF.
option(TROUPE_UNITY "Compile several files of a folder at a time" ON)

# troupe_join(TARGET COUNT [apart FILE...]): up to COUNT files at a time; those that are named keep to themselves.
# Files with compile options of their own stay alone, and those that the decoders list.
function(troupe_join target count)
  if(NOT TROUPE_UNITY)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 join "" "" "apart")
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE file)
    if(file IN_LIST troupe_decoder_files)
      continue()
    endif()
    cmake_path(GET file PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} group)
    if(file IN_LIST join_apart)
      string(APPEND group _apart)
    endif()
    if(NOT DEFINED taken_${group})
      set(taken_${group} 0)
    endif()
    math(EXPR number "${taken_${group}} / ${count}")
    math(EXPR taken_${group} "${taken_${group}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${number})
  endforeach()
  # GCC takes unnamed namespaces of files that are included for a header's.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
