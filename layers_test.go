package sluice_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sluice-go/sluice/"

// layers lists the packages from the bottom up: each may import those above it
// in this list and no other package of the module.
var layers = []string{
	"internal/wire", "internal/limited", "bandwidth", "bucket", "expiration", "proxy", "proxy/codec", "proxy/memory",
	"proxy/redis", "proxy/redis/internal/trips", "proxy/redis/goredis", "proxy/redis/rueidis",
}

// plain are the packages that need nothing but the standard library.
var plain = []string{"internal/wire", "internal/limited", "bandwidth", "bucket", "expiration", "proxy", "proxy/codec", "proxy/memory", "proxy/redis"}

func TestPackagesImportOneWay(t *testing.T) {
	for i, pkg := range layers {
		for _, dep := range list(t, "{{join .Imports \"\\n\"}}", pkg) {
			if own, ok := strings.CutPrefix(dep, module); ok && !slices.Contains(layers[:i], own) {
				t.Errorf("%s imports %s, which is not above it", pkg, own)
			}
		}
	}
}

// apart are the packages that stand outside the layers.
var apart = []string{
	"", "examples/api", "examples/quickstart", "internal/faults", "internal/histories", "internal/model", "internal/mutants", "internal/redistest", "internal/timelines",
	"internal/trace",
	"proxy/proxytest",
}

func TestEveryPackageHasItsPlace(t *testing.T) {
	for _, pkg := range list(t, "{{.ImportPath}}", "...") {
		own := strings.TrimPrefix(strings.TrimPrefix(pkg, strings.TrimSuffix(module, "/")), "/")
		if !slices.Contains(layers, own) && !slices.Contains(apart, own) {
			t.Errorf("%s is in no list", own)
		}
	}
}

func TestCoreNeedsOnlyTheStandardLibrary(t *testing.T) {
	for _, pkg := range plain {
		for _, dep := range list(t, "{{if not .Standard}}{{.ImportPath}}{{end}}", "-deps", pkg) {
			if !strings.HasPrefix(dep, module) {
				t.Errorf("%s needs %s", pkg, dep)
			}
		}
	}
}

// list runs go list with a format on the last argument, a package.
func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	args = append([]string{"list", "-f", format}, args...)
	args[len(args)-1] = "./" + args[len(args)-1]
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		t.Fatalf("go %v printed nothing", args)
	}
	return lines
}
