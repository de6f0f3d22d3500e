# Limits of net, measured on a server process of its own.
add_executable(net_test_server ${CMAKE_SOURCE_DIR}/tests/support/net_test_server.cc)
target_link_libraries(net_test_server PRIVATE quern_net)

quern_test(net_limits_test LABEL e2e SECONDS 300
  SOURCES ${CMAKE_SOURCE_DIR}/tests/e2e/net_limits_test.cc LINKS quern_net)
add_dependencies(net_limits_test net_test_server)
