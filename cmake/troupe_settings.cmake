# Compiler settings of all of Troupe's own targets, and nobody else's: link troupe_settings.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  # Loops that matter are compiled with more than this; see models in CMakeLists.txt.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need these two allowances. A precompiled header holds the digests of its files, comments included,
  # for #pragma once: the cache must compare whole files (its depend mode), not what the preprocessor leaves of them.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${TROUPE_CCACHE})
endif()

add_library(troupe_settings INTERFACE)
# A message without a type id does not compile here; applications decide for themselves.
target_compile_definitions(troupe_settings INTERFACE CAF_ENABLE_TYPE_ID_CHECKS)
target_compile_options(troupe_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                 -Wnon-virtual-dtor -ffp-contract=off
                                                 # Position independent, as fast as if it were not.
                                                 -fno-semantic-interposition
                                                 # GCC 12 sees overlaps, overflows and bounds in std::string's own code.
                                                 -Wno-restrict -Wno-stringop-overflow
                                                 -Wno-array-bounds -Wno-stringop-overread
                                                 # Clang does not know some of these.
                                                 $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>)
# An assertion names a file within the project, not a folder of the machine that compiled it.
target_compile_options(troupe_settings INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(TROUPE_CCACHE)
  target_compile_options(troupe_settings INTERFACE -fpch-preprocess)
endif()
if(TROUPE_WARNINGS_AS_ERRORS)
  target_compile_options(troupe_settings INTERFACE -Werror)
endif()
if(TROUPE_SANITIZE)
  # CAF's own headers call members through null pointers in unevaluated ways: not ours to mend.
  add_compile_options(-fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${TROUPE_SANITIZE})
  if(TROUPE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,vptr -fno-sanitize-recover=all)
  endif()
endif()

# Kernels of products are compiled for one instruction set each, and nothing else is (models/math/product_kernels.hpp).
# In each folder that compiles them, after other options were set.
function(troupe_set_kernel_options)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  # GCC 12 sees a variable in its own intrinsics that is not set.
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/models/math/products_avx512.cpp APPEND PROPERTY
               COMPILE_OPTIONS -mavx512f -mprefer-vector-width=512 -Wno-uninitialized -Wno-maybe-uninitialized)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/models/math/products_avx2.cpp APPEND PROPERTY
               COMPILE_OPTIONS -mavx2 -mfma)
endfunction()
