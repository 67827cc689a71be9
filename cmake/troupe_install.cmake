# Installs Troupe so that an application writes find_package(troupe) and links troupe::troupe (or a component of it), and
# packs it for Debian: `cpack -G DEB` in the build folder makes packages/troupe_*.deb (the command),
# packages/libtroupe-dev_*.deb (headers and library), packages/libtroupe-client_*.deb (clients in any language) and, where it is built, packages/python3-troupe_*.deb
# (the Python module). Installing by component makes one part alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(NOT TROUPE_INSTALL)
  return()
endif()

set(troupe_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)

# A file of targets for each component, so that who asks for one needs no other's libraries.
install(TARGETS troupe_core EXPORT troupe_core_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(TARGETS troupe_net troupe EXPORT troupe_net_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_BINARY_DIR}/public/troupe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
set(troupe_components core net)
if(TROUPE_BUILD_COMMAND)
  list(APPEND troupe_components client command)
  install(TARGETS troupe_client EXPORT troupe_client_targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(TARGETS troupe_client_calls EXPORT troupe_client_calls_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client NAMELINK_COMPONENT dev)
  install(TARGETS troupe_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  install(TARGETS troupe_app EXPORT troupe_command_targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
foreach(part IN LISTS troupe_components)
  install(EXPORT troupe_${part}_targets NAMESPACE troupe:: DESTINATION ${troupe_package_dir} COMPONENT dev)
endforeach()

if(TROUPE_BUILD_COMMAND)
  install(EXPORT troupe_client_calls_targets NAMESPACE troupe:: DESTINATION ${troupe_package_dir} COMPONENT dev)
endif()

if(TROUPE_BUILD_PYTHON)
  # Where Debian's own Python looks, whatever its second number; the module fits one only.
  set(troupe_module_dir lib/python3/dist-packages/troupe)
  install(TARGETS troupe_python LIBRARY DESTINATION ${troupe_module_dir} COMPONENT python)
  install(FILES ${troupe_python_sources} DESTINATION ${troupe_module_dir} COMPONENT python)
endif()

# All that installing needs, whatever else this folder builds: scripts/quickstart builds it.
add_custom_target(troupe_installed DEPENDS troupe_net)
if(TROUPE_BUILD_COMMAND)
  add_dependencies(troupe_installed troupe_command troupe_app troupe_client_calls)
endif()
if(TROUPE_BUILD_PYTHON)
  add_dependencies(troupe_installed troupe_python)
endif()

# The manual page and the shells' completions, from what the command says of itself. Who built the
# command alone installs it without them.
find_package(Python3 COMPONENTS Interpreter)
if(TROUPE_BUILD_COMMAND AND Python3_FOUND AND NOT TROUPE_SANITIZE)
  set(troupe_command_files ${PROJECT_BINARY_DIR}/command-files)
  set(troupe_command_outputs
      ${troupe_command_files}/troupe.1 ${troupe_command_files}/troupe ${troupe_command_files}/_troupe)
  add_custom_command(
    OUTPUT ${troupe_command_outputs}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make-command-files
            $<TARGET_FILE:troupe_command> ${troupe_command_files}
    DEPENDS troupe_command ${PROJECT_SOURCE_DIR}/scripts/make-command-files VERBATIM)
  add_custom_target(troupe_command_files ALL DEPENDS ${troupe_command_outputs})
  add_dependencies(troupe_installed troupe_command_files)
  install(FILES ${troupe_command_files}/troupe.1
          DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime OPTIONAL)
  install(FILES ${troupe_command_files}/troupe
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime OPTIONAL)
  install(FILES ${troupe_command_files}/_troupe
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT runtime OPTIONAL)
endif()

configure_package_config_file(cmake/troupeConfig.cmake.in ${PROJECT_BINARY_DIR}/troupeConfig.cmake
                              INSTALL_DESTINATION ${troupe_package_dir})
# Until 1.0 a change of the second number may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
# Debian's CAF has no package file of its own, so ours comes along.
install(FILES ${PROJECT_BINARY_DIR}/troupeConfig.cmake
              ${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCAF.cmake
        DESTINATION ${troupe_package_dir} COMPONENT dev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY examples/deploy DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples USE_SOURCE_PERMISSIONS
        COMPONENT runtime)

# ---- Debian packages
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME troupe)
set(CPACK_PACKAGE_CONTACT "Troupe contributors <troupe@localhost>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(troupe_dev_depends)
if(TROUPE_BUILD_COMMAND)
  list(APPEND CPACK_COMPONENTS_ALL client)
  set(troupe_dev_depends "libtroupe-client (= ${PROJECT_VERSION}), ")
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME troupe)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "python3 (>= 3.9)") # sweep and compare (python/tools)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "ocl-icd-libopencl1 | libopencl1") # loaded when a job wants a device
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Trains models with a company of actors: the troupe command")
set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME libtroupe-client)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "Takes part in federated training: clients for programs in any language")
# A static library: who links it links these as well (troupeConfig.cmake looks for them).
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtroupe-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${troupe_dev_depends}libcaf-dev (>= 0.17), libxtensor-dev (>= 0.24), libssl-dev (>= 3), libfmt-dev (>= 9), libxxhash-dev, libspdlog-dev (>= 1.10), libtomlplusplus-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Trains models with a company of actors: headers and library")
if(TROUPE_BUILD_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
  math(EXPR troupe_next_python "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-troupe)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${troupe_next_python}), python3-numpy, python3-sklearn")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-onnx)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Trains models with a company of actors: the Python module")
endif()
include(CPack)
