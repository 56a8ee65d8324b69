// Package apitest gives tests a real API server: etcd and kube-apiserver as
// separate processes, with this project's CustomResourceDefinitions and, where
// asked for, OpenShift's.
//
// Test packages that need the behaviour of the API server itself (validation
// rules, status subresource, field selectors, watches) use it; the binary of no
// command may import it. A test package has one server, started by the first
// test that asks for it:
//
//	var shared = apitest.New(apitest.Options{})
//
//	func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		server := shared.Server(t)
//		...
//	}
//
// The binaries are expected in the directory named by KUBEBUILDER_ASSETS, or
// else in build/bin of this module. When they are missing, tests are skipped
// with a reason.
package apitest
