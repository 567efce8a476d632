package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	noop "go.opentelemetry.io/otel/trace/noop"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crd "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	openapiutil "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	aggscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	aggopenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
)

const version = "1.37.2"

// A chain is two servers: one that knows all groups, and behind it the one of CustomResourceDefinitions and their objects.
type chain struct {
	url       string
	authority string
	loopback  *rest.Config
	front     *aggregator.APIAggregator
}

func newChain(endpoint, pki, hooks string) (*chain, error) {
	base, err := baseConfig(pki, hooks)
	if err != nil {
		return nil, err
	}
	storage := options.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	storage.StorageConfig.Transport.ServerList = []string{endpoint}
	storage.StorageConfig.StorageObjectCountTracker = base.StorageObjectCountTracker

	back, err := definitions(base, *storage)
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", err)
	}
	front, err := groups(base, *storage, back)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	return &chain{
		url:       "https://" + base.SecureServing.Listener.Addr().String(),
		authority: filepath.Join(pki, "apiserver.crt"),
		loopback:  base.LoopbackClientConfig,
		front:     front,
	}, nil
}

func (c *chain) serve(ctx context.Context) error {
	prepared, err := c.front.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

func (c *chain) waitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.loopback)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never ready: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// baseConfig is what both servers have in common: who listens, who may enter, how long anything takes.
func baseConfig(pki, hooks string) (*server.RecommendedConfig, error) {
	config := server.NewRecommendedConfig(crd.Codecs)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	running := options.NewServerRunOptions()
	running.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	running.ExternalHost = listener.Addr().String()
	if err := running.ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	serving := options.NewSecureServingOptions()
	serving.Listener = listener
	serving.BindAddress = net.IPv4(127, 0, 0, 1)
	serving.ServerCert.CertDirectory = pki
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	if err := serving.WithLoopback().ApplyToConfig(&config.Config); err != nil {
		return nil, err
	}
	config.Authentication.Authenticator = union.NewFailOnError(bearertoken.New(authenticator.TokenFunc(administrator)), anonymous.NewAuthenticator(nil))
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.AdmissionControl = admission.NewChainHandler()
	config.FlowControl = nil
	config.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	client, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	config.SharedInformerFactory = informers.NewSharedInformerFactory(client, 0)
	if hooks == "" {
		return config, nil
	}
	read, err := readHooks(hooks, "https://"+listener.Addr().String(), filepath.Join(pki, "apiserver.crt"))
	if err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	return config, read.apply(config, client)
}

func administrator(_ context.Context, said string) (*authenticator.Response, bool, error) {
	if said != token {
		return nil, false, nil
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}, true, nil
}

// own is a copy for one server of the chain: hooks are its own, and so is its OpenAPI.
func own(base *server.RecommendedConfig) *server.RecommendedConfig {
	config := *base
	config.PostStartHooks = map[string]server.PostStartHookConfigEntry{}
	described := openapiutil.GetOpenAPIDefinitionsWithoutDisabledFeatures(func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		all := crdopenapi.GetOpenAPIDefinitions(ref)
		for name, definition := range aggopenapi.GetOpenAPIDefinitions(ref) {
			all[name] = definition
		}
		return all
	})
	names := openapi.NewDefinitionNamer(crd.Scheme, aggscheme.Scheme, scheme.Scheme)
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(described, names)
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(described, names)
	return &config
}

func definitions(base *server.RecommendedConfig, storage options.EtcdOptions) (*crd.CustomResourceDefinitions, error) {
	config := own(base)
	objects := storage // those of the definitions are kept as they come
	storage.StorageConfig.Codec = crd.Codecs.LegacyCodec(crdv1.SchemeGroupVersion)
	storage.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(crdv1.SchemeGroupVersion, schema.GroupKind{Group: crdv1.GroupName})
	if err := storage.ApplyWithStorageFactoryTo(&options.SimpleStorageFactory{StorageConfig: storage.StorageConfig}, &config.Config); err != nil {
		return nil, err
	}
	if err := options.NewAPIEnablementOptions().ApplyTo(&config.Config, crd.DefaultAPIResourceConfigSource(), crd.Scheme); err != nil {
		return nil, err
	}
	objects.StorageConfig.Codec = storage.StorageConfig.Codec
	whole := crd.Config{GenericConfig: config, ExtraConfig: crd.ExtraConfig{
		CRDRESTOptionsGetter: crdoptions.NewCRDRESTOptionsGetter(objects, config.ResourceTransformers, config.StorageObjectCountTracker),
		MasterCount:          1,
		ServiceResolver:      nowhere{},
		AuthResolverWrapper:  webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noop.NewTracerProvider()),
	}}
	return whole.Complete().New(server.NewEmptyDelegate())
}

func groups(base *server.RecommendedConfig, storage options.EtcdOptions, back *crd.CustomResourceDefinitions) (*aggregator.APIAggregator, error) {
	config := own(base)
	config.SkipOpenAPIInstallation = true
	config.Serializer = aggscheme.Codecs
	storage.StorageConfig.Codec = aggscheme.Codecs.LegacyCodec(aggregation.SchemeGroupVersion)
	storage.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(aggregation.SchemeGroupVersion, schema.GroupKind{Group: aggregation.GroupName})
	storage.SkipHealthEndpoints = true
	if err := storage.ApplyWithStorageFactoryTo(&options.SimpleStorageFactory{StorageConfig: storage.StorageConfig}, &config.Config); err != nil {
		return nil, err
	}
	if err := options.NewAPIEnablementOptions().ApplyTo(&config.Config, aggregator.DefaultAPIResourceConfigSource(), aggscheme.Scheme); err != nil {
		return nil, err
	}
	whole := aggregator.Config{GenericConfig: config, ExtraConfig: aggregator.ExtraConfig{
		ServiceResolver: nowhere{},
		DisableRemoteAvailableConditionController: true,
	}}
	front, err := whole.Complete().NewWithDelegate(back.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	return front, keepGroups(front, back, config.LoopbackClientConfig)
}

type nowhere struct{}

func (nowhere) ResolveEndpoint(namespace, name string, _ int32) (*url.URL, error) {
	return nil, fmt.Errorf("there is no service %s/%s", namespace, name)
}
