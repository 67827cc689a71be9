# Tests that are scripts.
find_program(TROUPE_PYTHON python3 REQUIRED)

add_test(NAME check_laws
         COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_laws_test.py)
add_test(NAME count_tests
         COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/count_tests_test.py)
set_tests_properties(check_laws count_tests PROPERTIES TIMEOUT 120)

if(TROUPE_BUILD_COMMAND AND TROUPE_INSTALL)
  add_test(NAME consumer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/consumer_test.sh
                                 ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(consumer PROPERTIES LABELS slow TIMEOUT 600)
endif()

if(TROUPE_BUILD_COMMAND)
  add_test(NAME digits COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/digits_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(digits PROPERTIES TIMEOUT 600)
endif()

if(TROUPE_BUILD_COMMAND)
  # Skips without the data of TROUPE_DATA_DIR.
  add_test(NAME mnist COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/mnist_test.py
                              ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(mnist PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
