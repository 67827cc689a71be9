# Tests that are scripts.
# Debian's own first: it has the packages that scripts/install-dependencies installs.
find_program(TROUPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TROUPE_PYTHON python3 REQUIRED)

add_test(NAME check_laws
         COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/check_laws_test.py)
add_test(NAME count_tests
         COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/count_tests_test.py)
add_test(NAME mentions
         COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/mentions_test.py)
set_tests_properties(check_laws count_tests mentions PROPERTIES TIMEOUT 3600)

if(TROUPE_BUILD_COMMAND AND TROUPE_INSTALL)
  add_test(NAME consumer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/consumer_test.sh
                                 ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(consumer PROPERTIES LABELS slow TIMEOUT 3600)
endif()

if(TROUPE_BUILD_COMMAND)
  add_test(NAME fuzz_sources COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/sources_test.py
                                     ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  add_test(NAME digits COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/digits_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME model_commands
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/model_commands_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(digits model_commands PROPERTIES TIMEOUT 3600)
  add_test(NAME linear_examples
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/linear_examples_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(linear_examples PROPERTIES TIMEOUT 3600)
  add_test(NAME early_stopping
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/early_stopping_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(early_stopping PROPERTIES TIMEOUT 3600)
  add_test(NAME modes COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/modes_test.py
                              ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(modes PROPERTIES TIMEOUT 3600)
  add_test(NAME resume
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/resume_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME rows COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/rows/rows_test.py
                             ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME private_runs
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/federated/private_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME private_walk
           COMMAND ${TROUPE_PYTHON} -B
                   ${CMAKE_CURRENT_SOURCE_DIR}/scripts/federated/private_walk_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(resume rows private_runs private_walk PROPERTIES TIMEOUT 3600)
  add_test(NAME launch COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/launch_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(launch PROPERTIES TIMEOUT 3600)
  add_test(NAME signals
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/signals_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(signals PROPERTIES TIMEOUT 3600)
  add_test(NAME cluster_faults
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_faults_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME cluster_wire
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_wire_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME cluster_refusals
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_refusals_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME cluster_placements
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_placements_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME cluster_modes
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_modes_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  # Skips where the kernel permits no namespaces.
  add_test(NAME cluster_namespaces
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_namespaces_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(cluster_faults cluster_wire cluster_refusals cluster_placements cluster_modes
                       PROPERTIES TIMEOUT 3600)
  set_tests_properties(cluster_namespaces PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
  add_test(NAME tls COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/tls_test.py
                            ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME tls_wires
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/tls_wires_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME hung_threads
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/hung_threads_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(hung_threads PROPERTIES TIMEOUT 3600)
  add_test(NAME missing_nodes
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/missing_nodes_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(missing_nodes PROPERTIES TIMEOUT 3600)
  add_test(NAME cluster_random
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cluster_random_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} 1 101)
  set_tests_properties(cluster_random PROPERTIES TIMEOUT 3600)
  add_test(NAME impostors
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/impostors_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(tls tls_wires impostors PROPERTIES TIMEOUT 3600)
  add_test(NAME surroundings
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/surroundings_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME faulty_files
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/faulty_files_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(surroundings faulty_files PROPERTIES TIMEOUT 3600)
  add_test(NAME large_model
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/large_model_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(large_model PROPERTIES TIMEOUT 3600)
  add_test(NAME status COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/status_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(status PROPERTIES TIMEOUT 3600)
  add_executable(hanging scripts/explain/hanging.cpp)
  target_link_libraries(hanging PRIVATE troupe::command troupe_settings)
  add_library(slow_disk MODULE scripts/explain/slow_disk.cpp)
  add_test(NAME hangs COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/explain/hangs_test.py
                              ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(hangs PROPERTIES TIMEOUT 3600)
  add_test(NAME sweep COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/sweep/sweep_test.py
                              ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(sweep PROPERTIES TIMEOUT 3600)
  add_executable(own_kinds scripts/kinds/own_kinds.cpp)
  target_link_libraries(own_kinds PRIVATE troupe::command troupe_settings)
  add_test(NAME own_kinds
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/kinds/own_kinds_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME layers
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/kinds/layers_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME plateau
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/kinds/plateau_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME metrics
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/kinds/metrics_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME tables
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/rows/tables_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME columns
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/rows/columns_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  foreach(name IN ITEMS splits weights pipelines text)
    add_test(NAME table_${name}
             COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/rows/${name}_test.py
                     ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
    set_tests_properties(table_${name} PROPERTIES TIMEOUT 3600)
  endforeach()
  set_tests_properties(own_kinds layers plateau metrics tables columns PROPERTIES TIMEOUT 3600)
  add_test(NAME page COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/page/page_test.py
                             ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  foreach(name IN ITEMS visitors faults)
    add_test(NAME page_${name}
             COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/page/${name}_test.py
                     ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  endforeach()
  add_test(NAME timeline
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/page/timeline_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  add_test(NAME flight
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/flight/flight_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(page page_visitors page_faults timeline flight PROPERTIES TIMEOUT 3600)
endif()

if(TROUPE_BUILD_COMMAND AND TROUPE_BUILD_PYTHON)
  # They skip without NumPy, scikit-learn or ONNX.
  add_test(NAME python COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/python/python_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(python PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
  add_test(NAME onnx COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/python/onnx_test.py
                             ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(onnx PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()

set(troupe_examples_test ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/examples_test.py)
if(TROUPE_BUILD_EXAMPLES)
  foreach(name collectives gradients_coordinator parameters_coordinator embed estimator
               linear_regression_parallel online)
    add_test(NAME example_${name}
             COMMAND ${troupe_examples_test} program $<TARGET_FILE:example_${name}>
                     ${PROJECT_SOURCE_DIR}/examples/${name}.cpp)
    set_tests_properties(example_${name} PROPERTIES TIMEOUT 3600)
  endforeach()
  add_test(NAME example_networked_collectives
           COMMAND ${troupe_examples_test} processes $<TARGET_FILE:example_networked_collectives>
                   ${PROJECT_SOURCE_DIR}/examples/networked_collectives.cpp)
  set_tests_properties(example_networked_collectives PROPERTIES TIMEOUT 3600)
endif()
if(TROUPE_BUILD_EXAMPLES AND TROUPE_BUILD_COMMAND)
  add_test(NAME example_own_model
           COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_model>
                   model.hidden= model.kind=quadratic model.rank=3)
  add_test(NAME example_own_optimizer
           COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_optimizer>
                   optimizer.kind=lion optimizer.learning_rate=0.001)
  add_test(NAME example_own_metric
           COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_metric>
                   "training.metrics=[\"top-3\", \"auc\"]")
  set_tests_properties(example_own_model example_own_optimizer example_own_metric PROPERTIES TIMEOUT 3600)
  add_test(NAME example_embedded_node
           COMMAND ${troupe_examples_test} embedded $<TARGET_FILE:troupe_command>
                   $<TARGET_FILE:example_embedded_node>
                   ${PROJECT_SOURCE_DIR}/examples/cluster/embedded_node.cpp)
  set_tests_properties(example_embedded_node PROPERTIES TIMEOUT 3600)
endif()
if(TROUPE_BUILD_COMMAND)
  add_test(NAME example_jobs COMMAND ${troupe_examples_test} jobs $<TARGET_FILE:troupe_command>
                                     ${PROJECT_SOURCE_DIR}/examples)
  set_tests_properties(example_jobs PROPERTIES TIMEOUT 3600)
  add_test(NAME example_kill_a_worker
           COMMAND ${troupe_examples_test} shell $<TARGET_FILE:troupe_command>
                   ${PROJECT_SOURCE_DIR}/examples/cluster/kill_a_worker.sh)
  set_tests_properties(example_kill_a_worker PROPERTIES TIMEOUT 3600)
endif()

if(TROUPE_BUILD_COMMAND)
  # Skips without the data of TROUPE_DATA_DIR.
  add_test(NAME mnist COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/mnist_test.py
                              ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(mnist PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()

if(TROUPE_BUILD_COMMAND)
  add_executable(checkpoint_writer scripts/checkpoint_writer.cpp)
  target_link_libraries(checkpoint_writer PRIVATE troupe troupe_settings)
  add_test(NAME checkpoint_disk
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/checkpoint_disk_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(checkpoint_disk PROPERTIES TIMEOUT 3600)
endif()

if(TROUPE_BUILD_COMMAND)
  add_test(NAME deploy COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/deploy_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  # Skips without an ssh server.
  add_test(NAME ssh_launch
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/ssh_launch_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(deploy ssh_launch PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()

if(TROUPE_BUILD_COMMAND AND TROUPE_INSTALL AND NOT TROUPE_SANITIZE)
  add_test(NAME command_files
           COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/command_files_test.py
                   ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  # scripts/soak builds an application against the packages, too.
  add_test(NAME package COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/package_test.sh
                                ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(command_files package PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
