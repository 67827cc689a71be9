# Tests that are scripts.
# Debian's own first: it has the packages that scripts/install-dependencies installs.
find_program(TROUPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TROUPE_PYTHON python3 REQUIRED)

# A script of scripts/, with the build folder, the source folder and these arguments. It may skip (77).
function(troupe_script_test name script)
  add_test(NAME ${name} COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${script}_test.py
                                ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

foreach(name IN ITEMS check_laws count_tests mentions)
  add_test(NAME ${name} COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${name}_test.py)
  endforeach()

# The models' room alone, by another compiler and on another processor.
foreach(name IN ITEMS clang++ aarch64-linux-gnu-g++)
  set(more --mutants)
  if(name MATCHES aarch64)
    set(more -static -- qemu-aarch64-static)
  endif()
  add_test(NAME golden_${name} COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/models_golden.py
                                       ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/golden-${name} ${name} ${more})
  set_tests_properties(golden_${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

set(troupe_examples_test ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/scripts/examples_test.py)
if(TROUPE_BUILD_EXAMPLES)
  foreach(name IN ITEMS collectives digits gradients_coordinator parameters_coordinator embed estimator
                        linear_regression_parallel online)
    add_test(NAME example_${name} COMMAND ${troupe_examples_test} program $<TARGET_FILE:example_${name}>
                                          ${PROJECT_SOURCE_DIR}/examples/${name}.cpp)
  endforeach()
  add_test(NAME example_networked_collectives
           COMMAND ${troupe_examples_test} processes $<TARGET_FILE:example_networked_collectives>
                   ${PROJECT_SOURCE_DIR}/examples/networked_collectives.cpp)
endif()

if(TROUPE_BUILD_COMMAND)
  # Programs that tests run beside the command.
  foreach(name IN ITEMS explain/hanging kinds/own_kinds)
    get_filename_component(program ${name} NAME)
    add_executable(${program} scripts/${name}.cpp)
    target_link_libraries(${program} PRIVATE troupe::command troupe_settings)
  endforeach()
  add_library(slow_disk MODULE scripts/explain/slow_disk.cpp)
  add_executable(checkpoint_writer scripts/checkpoint_writer.cpp)
  target_link_libraries(checkpoint_writer PRIVATE troupe troupe_settings)

  add_test(NAME fuzz_sources COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/sources_test.py
                                     ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  foreach(name IN ITEMS checkpoint_disk cluster_faults cluster_modes cluster_namespaces cluster_placements
                        cluster_refusals cluster_wire deploy digits early_stopping faulty_files hung_threads
                        impostors large_model launch linear_examples missing_nodes mnist model_commands modes
                        resume signals ssh_launch status surroundings tls tls_wires)
    troupe_script_test(${name} ${name})
  endforeach()
  add_test(NAME golden COMMAND ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden_test.py
                               ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  foreach(name IN ITEMS explain/hangs flight/flight kinds/layers kinds/metrics kinds/own_kinds kinds/plateau
                        page/page page/timeline rows/columns rows/rows rows/tables sweep/sweep
                        tools/comparison tools/tools)
    get_filename_component(test ${name} NAME)
    troupe_script_test(${test} ${name})
  endforeach()
  foreach(name IN ITEMS splits weights pipelines text)
    troupe_script_test(table_${name} rows/${name})
  endforeach()
  foreach(name IN ITEMS visitors faults)
    troupe_script_test(page_${name} page/${name})
  endforeach()
  troupe_script_test(key_effects keys/key_effects)
  troupe_script_test(private_runs federated/private)
  troupe_script_test(private_walk federated/private_walk)
  troupe_script_test(cluster_random cluster_random 1 101)
  if(TROUPE_BUILD_PYTHON)
    troupe_script_test(python python/python)
    troupe_script_test(onnx python/onnx)
    troupe_script_test(python_regressions python/regressions)
  endif()

  add_test(NAME example_commands COMMAND ${troupe_examples_test} commands $<TARGET_FILE:troupe_command>)
  add_test(NAME example_jobs COMMAND ${troupe_examples_test} jobs $<TARGET_FILE:troupe_command>
                                     ${PROJECT_SOURCE_DIR}/examples)
  add_test(NAME example_kill_a_worker
           COMMAND ${troupe_examples_test} shell $<TARGET_FILE:troupe_command>
                   ${PROJECT_SOURCE_DIR}/examples/cluster/kill_a_worker.sh)
  if(TROUPE_BUILD_EXAMPLES AND TROUPE_BUILD_PYTHON)
    add_test(NAME example_documents COMMAND ${troupe_examples_test} documents $<TARGET_FILE:troupe_command>)
  endif()
  if(TROUPE_BUILD_EXAMPLES)
    add_test(NAME example_own_model COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_model>
                                            model.hidden= model.kind=quadratic model.rank=3)
    add_test(NAME example_own_optimizer
             COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_optimizer>
                     optimizer.kind=lion optimizer.learning_rate=0.001)
    add_test(NAME example_own_metric COMMAND ${troupe_examples_test} kinds $<TARGET_FILE:example_own_metric>
                                             "training.metrics=[\"top-3\", \"auc\"]")
    add_test(NAME example_embedded_node
             COMMAND ${troupe_examples_test} embedded $<TARGET_FILE:troupe_command>
                     $<TARGET_FILE:example_embedded_node>
                     ${PROJECT_SOURCE_DIR}/examples/cluster/embedded_node.cpp)
  endif()
  if(TROUPE_INSTALL)
    add_test(NAME consumer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/consumer_test.sh
                                   ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  endif()
  if(TROUPE_INSTALL AND NOT TROUPE_SANITIZE)
    troupe_script_test(command_files command_files)
    # scripts/soak builds an application against the packages, too.
    add_test(NAME package COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/package_test.sh
                                  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    set_tests_properties(package PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
