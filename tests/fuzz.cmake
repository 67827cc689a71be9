# Hostile input: one target for each decoder (tests/fuzz/hostile.hpp says what is promised).
#
# In every build the targets run over seeds, former findings and a few thousand fixed mutations. With
# TROUPE_FUZZ (preset "fuzz", needs clang) they are libFuzzer's, which searches, and only what they
# need is compiled; scripts/fuzz searches for longer.
set(troupe_fuzz_targets carrier checkpoint cluster csv flight frames hello idx job libsvm npy request rows safetensors status table
    text trace wire)

if(TROUPE_FUZZ)
  find_package(tomlplusplus REQUIRED)
  # What the decoders need and no more; that one is missing shows when linking.
  file(GLOB_RECURSE troupe_decoder_sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/models/*.cpp ${PROJECT_SOURCE_DIR}/data/*.cpp
       ${PROJECT_SOURCE_DIR}/coordinators/*.cpp ${PROJECT_SOURCE_DIR}/actors/net/socket/*.cpp
       ${PROJECT_SOURCE_DIR}/actors/net/links/messages.cpp ${PROJECT_SOURCE_DIR}/actors/protocol/*.cpp
       ${PROJECT_SOURCE_DIR}/app/toml/*.cpp ${PROJECT_SOURCE_DIR}/app/job/*.cpp)
  list(APPEND troupe_decoder_sources ${troupe_decoder_files})
  # Distances of words compare every letter with every other: as hints to the search they mean
  # nothing, would crowd out those that do, and take half of its time.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/models/keys/closest_name.cpp PROPERTIES
                              COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
  troupe_set_kernel_options()
  add_library(troupe_decoders STATIC ${troupe_decoder_sources})
  target_compile_features(troupe_decoders PUBLIC cxx_std_20)
  target_link_libraries(troupe_decoders PUBLIC CAF::core CAF::io xtensor Threads::Threads
                        nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus ZLIB::ZLIB
                        xxhash fmt::fmt OpenSSL::SSL OpenSSL::Crypto troupe_settings)
else()
  add_library(troupe_decoders INTERFACE)
  target_link_libraries(troupe_decoders INTERFACE troupe_app troupe_settings ZLIB::ZLIB
                        nlohmann_json::nlohmann_json)
endif()

set(troupe_fuzz_folder ${PROJECT_BINARY_DIR}/fuzz)
add_executable(fuzz_corpora fuzz/corpora.cpp)
target_link_libraries(fuzz_corpora PRIVATE troupe_decoders)
# Seeds have to be there before the targets run: as a test of its own, which the others require.
add_test(NAME fuzz_corpora COMMAND fuzz_corpora ${troupe_fuzz_folder}/seeds)
set_tests_properties(fuzz_corpora PROPERTIES FIXTURES_SETUP fuzz_seeds)

foreach(name IN LISTS troupe_fuzz_targets)
  set(folders ${troupe_fuzz_folder}/seeds/${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/findings/${name})
  add_executable(fuzz_${name} fuzz/${name}_fuzz.cpp)
  target_link_libraries(fuzz_${name} PRIVATE troupe_decoders)
  if(TROUPE_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    # What it finds new goes into the first folder.
    file(MAKE_DIRECTORY ${troupe_fuzz_folder}/found/${name})
    add_test(NAME fuzz_${name}
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/fuzz ${name} 20000)
    set_tests_properties(fuzz_${name} PROPERTIES
                         ENVIRONMENT "TROUPE_FUZZ_BUILD=${PROJECT_BINARY_DIR}")
  else()
    target_sources(fuzz_${name} PRIVATE fuzz/plain_driver.cpp)
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} -runs=2000 ${folders})
  endif()
  set_tests_properties(fuzz_${name} PROPERTIES FIXTURES_REQUIRED fuzz_seeds)
endforeach()
