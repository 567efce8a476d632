// Package e2e runs Kubernetes' specs of API machinery, unmodified, on a server without nodes.
//
// The program of Kubernetes waits for schedulable nodes before its first spec. This one begins with
// the specs.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/testinit"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/feature"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	framework.TestContext.IPFamily = "ipv4"
	os.Exit(m.Run())
}

func TestE2E(t *testing.T) {
	logs.InitLogs()
	defer logs.FlushLogs()
	klog.EnableContextualLogging(true)
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	suite.RandomizeAllSpecs = false
	// Only here: the framework previews the specs while it reads the flags, and would drop it.
	ginkgo.ReportAfterEach(showProgress)
	if !suite.DryRun {
		startNode(t)
	}
	ginkgo.RunSpecs(t, "Kubernetes e2e suite", suite, reporter)
}

// Writes a line for each spec that ran to standard error. The lines are shown to the user; results
// are read from ginkgo's report.
func showProgress(spec ginkgo.SpecReport) {
	if spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) && spec.Failure.Message == "" {
		return
	}
	message, _, _ := strings.Cut(spec.Failure.Message, "\n")
	fmt.Fprintf(os.Stderr, "spec: %s in %.1f s  %s  %s\n", spec.State, spec.RunTime.Seconds(), spec.FullText(), message)
}
