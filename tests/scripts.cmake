# Tests that are scripts.
# Debian's own first: it has the packages that scripts/install-dependencies installs.
find_program(TROUPE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TROUPE_PYTHON python3 REQUIRED)
set(here ${CMAKE_CURRENT_SOURCE_DIR})
set(folders ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})

# A script that may skip (77).
function(troupe_command_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# Scripts of scripts/, with the build folder and the source folder: each is a path without _test.py, of which
# the last part names the test, or NAME:PATH.
function(troupe_script_tests)
  foreach(script IN LISTS ARGN)
    string(REGEX MATCH "^([^:]*):(.*)" named ${script})
    get_filename_component(name ${script} NAME)
    if(named)
      set(name ${CMAKE_MATCH_1})
      set(script ${CMAKE_MATCH_2})
    endif()
    troupe_command_test(${name} ${TROUPE_PYTHON} -B ${here}/scripts/${script}_test.py ${folders})
  endforeach()
endfunction()

foreach(name IN ITEMS laws/check_laws laws/compiler_cache laws/count_tests package/mentions)
  get_filename_component(test ${name} NAME)
  add_test(NAME ${test} COMMAND ${TROUPE_PYTHON} -B ${here}/scripts/${name}_test.py)
endforeach()

# The models' room alone, by another compiler and on another processor.
foreach(name IN ITEMS clang++ aarch64-linux-gnu-g++)
  set(more --mutants)
  if(name MATCHES aarch64)
    set(more -static -- qemu-aarch64-static)
  endif()
  troupe_command_test(golden_${name} ${TROUPE_PYTHON} -B ${here}/golden/models_golden.py ${PROJECT_SOURCE_DIR}
                                     ${PROJECT_BINARY_DIR}/golden-${name} ${name} ${more})
endforeach()

# What an example prints, or does: its name, what scripts/examples_test.py does with it, and on what.
set(examples ${PROJECT_SOURCE_DIR}/examples)
function(troupe_example_test name)
  add_test(NAME example_${name} COMMAND ${TROUPE_PYTHON} -B ${here}/scripts/examples_test.py ${ARGN})
endfunction()
if(TROUPE_BUILD_EXAMPLES)
  foreach(name IN ITEMS collectives digits embed estimator own_member
                        linear_regression_parallel online row_supply)
    troupe_example_test(${name} program $<TARGET_FILE:example_${name}> ${examples}/${name}.cpp)
  endforeach()
  set(name networked_collectives)
  troupe_example_test(${name} processes $<TARGET_FILE:example_${name}> ${examples}/${name}.cpp)
endif()

if(TROUPE_BUILD_COMMAND)
  # Programs that tests run beside the command.
  foreach(name IN ITEMS explain/hanging kinds/own_kinds disk/checkpoint_writer)
    get_filename_component(program ${name} NAME)
    add_executable(${program} scripts/${name}.cpp)
    target_link_libraries(${program} PRIVATE troupe::command troupe_settings)
  endforeach()
  add_library(slow_disk MODULE scripts/explain/slow_disk.cpp)

  add_test(NAME fuzz_sources COMMAND ${TROUPE_PYTHON} -B ${here}/fuzz/sources_test.py
                                     ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  add_test(NAME golden COMMAND ${TROUPE_PYTHON} -B ${here}/golden/golden_test.py ${folders})
  troupe_script_tests(
    cluster_faults cluster_modes cluster_namespaces cluster_placements cluster_refusals cluster_wire deploy elastic
    devices/devices disk/checkpoint_disk disk/faulty_files examples/digits examples/linear_examples examples/mnist examples/modes
    explain/hangs flight/flight hung_threads impostors keys/key_effects kinds/layers kinds/metrics kinds/own_kinds
    kinds/plateau kinds/rare_classes kinds/start large_model launch missing_nodes model_commands page/page page/timeline
    page_faults:page/faults page_visitors:page/visitors practice/practice predictions:rows/predictions
    federated/clients federated/hospital federated/nat federated/presence private_runs:federated/private federated/private_walk replay/replay resume rows/cells rows/columns rows/holdings home_rows:rows/home known_rows:rows/known rows/rows
    rows/tables signals speeds ssh_launch status surroundings sweep/sweep table_pipelines:rows/pipelines
    table_splits:rows/splits table_text:rows/text table_weights:rows/weights tls tls_wires tools/comparison
    tools/tools)
  troupe_command_test(cluster_random ${TROUPE_PYTHON} -B ${here}/scripts/cluster_random_test.py ${folders} 1 101)
  troupe_command_test(cluster_random_homes ${TROUPE_PYTHON} -B ${here}/scripts/cluster_random_test.py ${folders} 2 16
                                           homes)
  troupe_command_test(cluster_random_modes ${TROUPE_PYTHON} -B ${here}/scripts/cluster_random_test.py ${folders} 2 11
                                           modes)
  if(TROUPE_BUILD_PYTHON)
    troupe_script_tests(python/python python/onnx python_regressions:python/regressions
                         python_habits:python/habits python_named_rows:python/named_rows
                         python_torch:python/torch)
  endif()

  set(troupe $<TARGET_FILE:troupe_command>)
  troupe_example_test(commands commands ${troupe})
  troupe_example_test(jobs jobs ${troupe} ${examples})
  troupe_example_test(come_and_go shell ${troupe} ${examples}/cluster/come_and_go.sh)
  if(TROUPE_BUILD_EXAMPLES AND TROUPE_BUILD_PYTHON)
    troupe_example_test(documents documents ${troupe})
  endif()
  if(TROUPE_BUILD_EXAMPLES)
    if(NOT TROUPE_SANITIZE) # which would have to be there before Python
      troupe_script_tests(federated/client_library)
    endif()
    troupe_example_test(own_model kinds $<TARGET_FILE:example_own_model> model.hidden= model.kind=quadratic
                        model.rank=3)
    troupe_example_test(own_optimizer kinds $<TARGET_FILE:example_own_optimizer> optimizer.kind=lion
                        optimizer.learning_rate=0.001)
    troupe_example_test(own_metric kinds $<TARGET_FILE:example_own_metric> "training.metrics=[\"top-3\", \"auc\"]")
    troupe_example_test(own_loss kinds $<TARGET_FILE:example_own_loss> optimizer.schedule.kind=saw
                        optimizer.schedule.period=40 model.activation=softsign training.stop_rule=level
                        training.strategy=parameters merge.rule=nearest)
    troupe_example_test(embedded_node embedded ${troupe} $<TARGET_FILE:example_embedded_node>
                        ${examples}/cluster/embedded_node.cpp)
    troupe_example_test(own_rows own_rows ${troupe} $<TARGET_FILE:example_own_rows>
                        ${examples}/cluster/own_rows.cpp)
    foreach(file gardens averaged_gardens)
      troupe_example_test(${file} gardens ${troupe} $<TARGET_FILE:example_gardens> ${examples}/cluster/gardens.cpp
                          ${examples}/cluster/${file}.toml)
    endforeach()
  endif()
  if(TROUPE_INSTALL)
    add_test(NAME consumer COMMAND ${here}/scripts/package/consumer_test.sh ${PROJECT_SOURCE_DIR}
                                   ${PROJECT_BINARY_DIR})
  endif()
  if(TROUPE_INSTALL AND NOT TROUPE_SANITIZE)
    troupe_script_tests(package/command_files)
    # scripts/soak builds an application against the packages, too.
    troupe_command_test(package ${here}/scripts/package/package_test.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  endif()
endif()
