// The genuine Kubernetes API machinery as a peer: apiextensions-apiserver over an etcd in the same process, with its watch
// cache, on TLS. It serves CustomResourceDefinitions and what they define, and nothing else: no namespaces, no RBAC, no
// admission, no aggregator in front, all of which a real control plane pays for besides.
//
// It writes a kubeconfig once it is ready, and runs until it is killed.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.opentelemetry.io/otel/trace/noop"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	extensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	token = "bench"
	// Longer than a start takes with 100 000 objects.
	patience = 2 * time.Minute
	quota    = 8 << 30
)

func main() {
	dir := flag.String("data-dir", "", "where everything is kept")
	kubeconfig := flag.String("kubeconfig-out", "", "where to write a kubeconfig once it is ready")
	flag.Parse()
	if err := run(*dir, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver peer:", err)
		os.Exit(1)
	}
}

func run(dir, kubeconfig string) error {
	etcd, err := startEtcd(filepath.Join(dir, "etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	config, err := serverConfig(etcd, filepath.Join(dir, "certificates"))
	if err != nil {
		return err
	}
	client := config.GenericConfig.LoopbackClientConfig
	address := config.GenericConfig.SecureServing.Listener.Addr()
	authority := config.GenericConfig.SecureServing.Cert
	server, err := config.Complete().New(genericserver.NewEmptyDelegate())
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.GenericAPIServer.PrepareRun().RunWithContext(context.Background()) }()
	if err := waitReady(client); err != nil {
		return err
	}
	certificate, _ := authority.CurrentCertKeyContent()
	if err := writeKubeconfig(kubeconfig, "https://"+address.String(), certificate); err != nil {
		return err
	}
	return <-ended
}

func startEtcd(dir string) (string, error) {
	client, err := freeURL()
	if err != nil {
		return "", err
	}
	peer, err := freeURL()
	if err != nil {
		return "", err
	}
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	config.QuotaBackendBytes = quota
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return "", err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return client.String(), nil
	case err := <-etcd.Err():
		return "", err
	case <-time.After(patience):
		return "", fmt.Errorf("not ready after %s", patience)
	}
}

// freeURL has a port that was free a moment ago: etcd takes no socket that is bound.
func freeURL() (url.URL, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer listener.Close()
	return url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
}

func serverConfig(etcd, certificates string) (*extensions.Config, error) {
	running := options.NewServerRunOptions()
	running.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	config := genericserver.NewRecommendedConfig(extensions.Codecs)
	if err := running.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	if err := serve(config, certificates); err != nil {
		return nil, err
	}
	config.Authentication.Authenticator = bearertoken.New(authenticator.TokenFunc(admin))
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	kube, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	config.SharedInformerFactory = informers.NewSharedInformerFactory(kube, 0)
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer(extensions.Scheme, scheme.Scheme)
	config.OpenAPIConfig = genericserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericserver.DefaultOpenAPIV3Config(definitions, namer)

	defaults := options.NewRecommendedOptions("/registry/apiextensions.kubernetes.io",
		extensions.Codecs.LegacyCodec(v1beta1.SchemeGroupVersion, v1.SchemeGroupVersion))
	storage := defaults.Etcd
	storage.StorageConfig.Transport.ServerList = []string{etcd}
	storage.StorageConfig.StorageObjectCountTracker = config.StorageObjectCountTracker
	if err := storage.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	enabled := options.NewAPIEnablementOptions()
	if err := enabled.ApplyTo(&config.Config, extensions.DefaultAPIResourceConfigSource(), extensions.Scheme); err != nil {
		return nil, err
	}
	return &extensions.Config{
		GenericConfig: config,
		ExtraConfig: extensions.ExtraConfig{
			CRDRESTOptionsGetter: extensionsoptions.NewCRDRESTOptionsGetter(*storage, config.ResourceTransformers, config.StorageObjectCountTracker),
			ServiceResolver:      noServices{},
			AuthResolverWrapper:  webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noop.NewTracerProvider()),
		},
	}, nil
}

func serve(config *genericserver.RecommendedConfig, certificates string) error {
	serving := options.NewSecureServingOptions()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving.Listener = listener
	serving.BindPort = listener.Addr().(*net.TCPAddr).Port
	serving.ServerCert.CertDirectory = certificates
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return err
	}
	return serving.WithLoopback().ApplyToConfig(&config.Config)
}

func admin(_ context.Context, given string) (*authenticator.Response, bool, error) {
	if given != token {
		return nil, false, nil
	}
	info := &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	return &authenticator.Response{User: info}, true, nil
}

type noServices struct{}

func (noServices) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, fmt.Errorf("there is no service %s/%s", namespace, name)
}

func waitReady(config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var code int
		client.RESTClient().Get().AbsPath("/readyz").Do(context.Background()).StatusCode(&code)
		if code == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("not ready after %s", patience)
}

// writeKubeconfig makes the file under another name: it is there as a whole or not at all.
func writeKubeconfig(path, server string, authority []byte) error {
	config := api.NewConfig()
	config.Clusters["bench"] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["bench"] = &api.AuthInfo{Token: token}
	config.Contexts["bench"] = &api.Context{Cluster: "bench", AuthInfo: "bench"}
	config.CurrentContext = "bench"
	if err := clientcmd.WriteToFile(*config, path+".new"); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
