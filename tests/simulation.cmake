# Whole clusters on one thread in virtual time, and the program that runs them by seed.
file(GLOB simulation_sources CONFIGURE_DEPENDS simulation/*.cpp)
list(FILTER simulation_sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
add_library(troupe_simulated STATIC ${simulation_sources})
target_link_libraries(troupe_simulated PUBLIC troupe PRIVATE troupe_settings)
set(simulation_headers <caf/send.hpp> <caf/stateful_actor.hpp> <caf/typed_event_based_actor.hpp>
                       "\"actors/protocol/cluster_messages.hpp\"")
target_precompile_headers(troupe_simulated PRIVATE ${simulation_headers})
troupe_join(troupe_simulated 5)
troupe_add_tests(simulation troupe_simulated)
add_executable(troupe_simulation simulation/main.cpp)
target_link_libraries(troupe_simulation PRIVATE troupe_simulated troupe_settings)

# Fixed seeds: the same runs everywhere. scripts/soak runs new ones.
add_test(NAME simulation_seeds
         COMMAND troupe_simulation --seeds 0..2500 --check-views --fired-min 100)
add_test(NAME simulation_joiners
         COMMAND troupe_simulation --seeds 0..250 --workload joiners --check-views)
add_test(NAME simulation_layers
         COMMAND troupe_simulation --seeds 0..150 --workload layers)
add_test(NAME simulation_lone
         COMMAND troupe_simulation --seeds 0..150 --workload lone)
# Parameters that were kept while a disk failed, and came whole into a checkpoint: seed 101245.
add_test(NAME simulation_scratch
         COMMAND troupe_simulation --seeds 101200..101260 --workload best)
add_test(NAME simulation_kept COMMAND troupe_simulation --kept --seeds 0..700)
# Work that three workers were lost with is left out: seed 1301, and in federated rounds 496.
add_test(NAME simulation_left_out COMMAND troupe_simulation --kept --seeds 1301..1302)
add_test(NAME simulation_spent COMMAND troupe_simulation --federated --apart --seeds 496..497)
add_test(NAME simulation_federated COMMAND troupe_simulation --federated --seeds 0..300)
add_test(NAME simulation_home COMMAND troupe_simulation --home --seeds 0..400)
add_test(NAME simulation_home_apart COMMAND troupe_simulation --home --apart --seeds 400..500)
add_test(NAME simulation_spans COMMAND troupe_simulation --spans --seeds 0..250)
add_test(NAME simulation_spans_apart COMMAND troupe_simulation --apart --spans --seeds 400..500)
add_test(NAME simulation_split COMMAND troupe_simulation --split --seeds 0..700)
add_test(NAME simulation_notice COMMAND troupe_simulation --notice --seeds 0..400)
# Sums over blocks of a shard that had not begun the term yet, and a cut at the version of a checkpoint between two rows.
add_test(NAME simulation_notice_rare COMMAND troupe_simulation --notice --seeds 2004..2005 --workload whole)
add_test(NAME simulation_notice_between COMMAND troupe_simulation --notice --seeds 2808..2809 --workload siblings)
add_test(NAME simulation_apart COMMAND troupe_simulation --apart --seeds 0..300)
add_test(NAME simulation_kept_apart COMMAND troupe_simulation --apart --kept --seeds 0..150)
add_test(NAME simulation_modes COMMAND troupe_simulation --modes --replay --seeds 0..400 --fired-min 300)

# The same with mutants: copies of some sources with deliberate bugs in them, each asleep until it is
# put in force. The copies come first when linking, so that the library's own are not taken.
set(mutants_script ${TROUPE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/simulation/mutants/make_mutants.py
                   ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/mutants)
set(mutants_inputs ${CMAKE_CURRENT_SOURCE_DIR}/simulation/mutants/mutants.toml
                   ${CMAKE_CURRENT_SOURCE_DIR}/simulation/mutants/make_mutants.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mutants_inputs})
execute_process(COMMAND ${mutants_script} --list OUTPUT_VARIABLE mutated_files
                COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM mutated_files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE mutated_originals)
list(TRANSFORM mutated_files PREPEND ${CMAKE_CURRENT_BINARY_DIR}/mutants/ OUTPUT_VARIABLE mutated_sources)
list(APPEND mutated_sources ${CMAKE_CURRENT_BINARY_DIR}/mutants/table.cpp)
add_custom_command(OUTPUT ${mutated_sources} COMMAND ${mutants_script}
                   DEPENDS ${mutants_inputs} ${mutated_originals}
                   COMMENT "Writing sources with mutants" VERBATIM)
add_executable(troupe_mutants ${mutated_sources} simulation/mutants/main.cpp)
target_link_libraries(troupe_mutants PRIVATE troupe_simulated troupe_settings)
target_compile_options(troupe_mutants PRIVATE -O1)
target_precompile_headers(troupe_mutants PRIVATE ${simulation_headers} <map>)
troupe_join(troupe_mutants 6)
add_test(NAME simulation_mutants COMMAND troupe_mutants --seeds 0..350)
