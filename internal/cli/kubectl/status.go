package kubectl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
)

// interval lies between two observations.
const interval = 2 * time.Second

func (w *Wiring) newStatusCommand() *cobra.Command {
	var format string
	var watch bool
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs, Short: "Show where the change of the address stands",
		Example: "  kubectl lca status\n  kubectl lca status --watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			if watch && f != output.Text {
				return errors.New("--watch prints text; for other formats use \"kubectl get ipconfig -w\"")
			}
			c, err := w.connectCluster()
			if err != nil {
				return err
			}
			if watch {
				err := w.followStatus(cmd.Context(), c, func(*lcav1.IPConfig) (bool, error) { return false, nil })
				if cmd.Context().Err() != nil {
					return nil //nolint:nilerr // the user has interrupted it
				}
				return err
			}
			ipc, err := c.getIPConfig(cmd.Context())
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, report{Spec: ipc.Spec, Status: ipc.Status})
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print a line for each change until interrupted")
	return cmd
}

// report is the answer of "status".
type report struct {
	Spec   lcav1.IPConfigSpec   `json:"spec"`
	Status lcav1.IPConfigStatus `json:"status"`
}

// Text implements output.Answer.
func (r report) Text(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", label, text)
		}
	}
	s := r.Status
	line("Stage", string(r.Spec.Stage))
	line("State", stateOf(s))
	if c := meta.FindStatusCondition(s.Conditions, lcav1.ConditionNodeObserved); c != nil && c.Status == metav1.ConditionFalse {
		line("Not observed", c.Message)
	}
	line("IPv4", describeIP(s.IPv4))
	line("IPv6", describeIP(s.IPv6))
	line("DNS servers", strings.Join(s.DNSServers, ", "))
	if s.VLANID != 0 {
		line("VLAN", fmt.Sprint(s.VLANID))
	}
	line("Operation", s.OperationID)
	line("Step", describeStep(s.Step))
	line("Next stages", joinStages(s.ValidNextStages))
	if until := s.RollbackAvailabilityExpiration; until != nil {
		line("Way back until", until.UTC().Format(time.RFC3339))
	}
	line("Certificates", s.Recert)
	for _, c := range s.Preflight {
		if c.Result != lcav1.PreflightPassed {
			line("Check", fmt.Sprintf("%s (%s, %s): %s", c.Name, c.Result, c.Severity, c.Message))
		}
	}
	line("Evidence", strings.Join(s.Evidence, ", "))
	return w.Flush()
}

// stateOf is the newest condition, which the list has last.
func stateOf(s lcav1.IPConfigStatus) string {
	if len(s.Conditions) == 0 {
		return "not reported yet"
	}
	c := s.Conditions[len(s.Conditions)-1]
	text := c.Type + " " + c.Reason
	if c.Status != metav1.ConditionTrue {
		text = "not " + text
	}
	if c.Type == c.Reason && c.Status == metav1.ConditionTrue {
		text = c.Type
	}
	if c.Message != "" && c.Message != c.Type {
		text += ": " + c.Message
	}
	return text
}

func describeIP(s *lcav1.IPStatus) string {
	if s == nil || s.Address == "" {
		return ""
	}
	text := s.Address
	if s.MachineNetwork != "" {
		text += " in " + s.MachineNetwork
	}
	if s.Gateway != "" {
		text += " via " + s.Gateway
	}
	return text
}

func describeStep(s *lcav1.StepStatus) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d, %s: %s", s.Index, s.Total, s.Name, s.Message)
}

func joinStages(list []lcav1.IPConfigStage) string {
	texts := make([]string, 0, len(list))
	for _, s := range list {
		texts = append(texts, string(s))
	}
	if len(texts) == 0 {
		return "none for now"
	}
	return strings.Join(texts, ", ")
}

// followStatus prints a line for each change of the status until done says so or ctx ends. The API is down during most of a change, and
// after it answers at another address: that is shown, and is no failure.
func (w *Wiring) followStatus(ctx context.Context, c Cluster, done func(*lcav1.IPConfig) (bool, error)) error {
	said := ""
	say := func(text string) {
		if text != said {
			fmt.Fprintf(w.Out, "%s  %s\n", w.Clock.Now().Format(time.TimeOnly), text)
			said = text
		}
	}
	for {
		ipc, err := c.getIPConfig(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			say(c.describeGetError(err) + "; retrying")
		default:
			say(summarizeStatus(ipc))
			if ended, err := done(ipc); ended || err != nil {
				return err
			}
		}
		if err := w.Clock.Sleep(ctx, interval); err != nil {
			return err
		}
	}
}

// describeGetError says why there is no status. What another try may not heal is quoted: a refusal of the API, and a certificate
// that is not the server's, which is also what another machine shows that has the former address now. Other errors differ from try
// to try.
func (c Cluster) describeGetError(err error) string {
	var certificate *tls.CertificateVerificationError
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.As(err, &certificate) {
		return err.Error()
	}
	return "the API at " + c.Server + " does not answer, or has no ipconfig"
}

// summarizeStatus is the status in a line.
func summarizeStatus(ipc *lcav1.IPConfig) string {
	text := "stage " + string(ipc.Spec.Stage) + ": " + stateOf(ipc.Status)
	if s := describeStep(ipc.Status.Step); s != "" {
		text += "; step " + s
	}
	return text
}
