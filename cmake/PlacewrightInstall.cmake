# Installs the program, libplacewright.so with its public headers, and exports it for
# find_package(Placewright). The checker and the libraries that include LibTorch are opened by the program, in
# lib/placewright beside its bin.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(opened_folder lib/placewright)
install(TARGETS placewright_library EXPORT PlacewrightTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS placewright check_plan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(placewright check_plan PROPERTIES
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS placewright_check LIBRARY DESTINATION ${opened_folder})
file(RELATIVE_PATH library_folder ${CMAKE_INSTALL_PREFIX}/${opened_folder} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(placewright_check PROPERTIES INSTALL_RPATH "$ORIGIN/${library_folder}")
if(PLACEWRIGHT_WITH_TORCH)
  install(TARGETS placewright_torch placewright_torch_files placewright_torch_learn
    placewright_torch_run LIBRARY DESTINATION ${opened_folder})
  set_target_properties(placewright_torch placewright_torch_files placewright_torch_learn
    placewright_torch_run PROPERTIES
    INSTALL_RPATH "$ORIGIN;$ORIGIN/${library_folder}")
endif()
# The public headers and what they include; nothing of the engine's inside.
install(DIRECTORY include/placewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(PROGRAMS python/placewright_export.py DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright/python)
install(DIRECTORY python/placewright_torch
  DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright/python FILES_MATCHING PATTERN "*.py")

# The runs that `placewright advise` reads.
install(FILES bench/records/traversal.jsonl DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright)
install(DIRECTORY policies/ DESTINATION ${CMAKE_INSTALL_DATADIR}/placewright/policies
  FILES_MATCHING PATTERN "*.policy")

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Placewright)
install(EXPORT PlacewrightTargets NAMESPACE Placewright:: DESTINATION ${config_folder})
configure_package_config_file(cmake/PlacewrightConfig.cmake.in
  ${PROJECT_BINARY_DIR}/PlacewrightConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlacewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PlacewrightConfig.cmake
  ${PROJECT_BINARY_DIR}/PlacewrightConfigVersion.cmake DESTINATION ${config_folder})
