"""The Python client, unmodified, against the server that KUBECONFIG names."""

import json
import threading
from datetime import datetime, timezone

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

from steps import equal, eventually, restart, run

NAMESPACE = "py"
config.load_kube_config()
core = client.CoreV1Api()
apps = client.AppsV1Api()
custom = client.CustomObjectsApi()
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"


def config_map(name, value="1", **metadata):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, **metadata), data={"v": value})


def refused(call, status, reason):
    """It raises what the client makes of a refusal. Returns the Status."""
    try:
        call()
    except ApiException as error:
        body = json.loads(error.body)
        equal((error.status, body["reason"], body["code"]), (status, reason, status))
        return body
    raise AssertionError(f"it was not refused with {reason}")


def documents():
    """versions, groups and resources are known"""
    assert client.VersionApi().get_code().git_version.startswith("v1.")
    assert "apps" in [group.name for group in client.ApisApi().get_api_versions().groups]
    resources = core.get_api_resources().resources
    assert {"configmaps", "namespaces", "namespaces/status"} <= {one.name for one in resources}
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    equal(core.read_namespace(NAMESPACE).status.phase, "Active")


def builtins():
    """typed objects are created, read, replaced and deleted"""
    made = core.create_namespaced_config_map(NAMESPACE, config_map("a"))
    equal(core.read_namespaced_config_map("a", NAMESPACE).data, {"v": "1"})
    made.data = {"v": "2"}
    replaced = core.replace_namespaced_config_map("a", NAMESPACE, made)
    equal(replaced.data, {"v": "2"})
    equal(replaced.metadata.uid, made.metadata.uid)
    refused(lambda: core.replace_namespaced_config_map("a", NAMESPACE, made), 409, "Conflict")
    secret = client.V1Secret(metadata=client.V1ObjectMeta(generate_name="s-"), string_data={"k": "v"})
    secret = core.create_namespaced_secret(NAMESPACE, secret)
    equal((secret.data, secret.metadata.name[:2]), ({"k": "dg=="}, "s-"))
    equal(core.delete_namespaced_config_map("a", NAMESPACE)["status"], "Success")
    lease = client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=client.V1LeaseSpec(holder_identity="me"))
    lease = client.CoordinationV1Api().create_namespaced_lease(NAMESPACE, lease)
    equal(lease.spec.holder_identity, "me")
    event = client.CoreV1Event(
        metadata=client.V1ObjectMeta(name="e"), reason="R", message="m", type="Normal", action="A",
        event_time=datetime.now(timezone.utc), reporting_component="example.com/c", reporting_instance="c-1",
        involved_object=client.V1ObjectReference(kind="ConfigMap", name="a", namespace=NAMESPACE))
    core.create_namespaced_event(NAMESPACE, event)
    newer = client.EventsV1Api().read_namespaced_event("e", NAMESPACE)
    equal((newer.reason, newer.note, newer.regarding.name), ("R", "m", "a"))
    role = client.V1Role(
        metadata=client.V1ObjectMeta(name="r"),
        rules=[client.V1PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])])
    equal(client.RbacAuthorizationV1Api().create_namespaced_role(NAMESPACE, role).rules[0].verbs, ["get"])
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods", namespace=NAMESPACE)))
    assert client.AuthorizationV1Api().create_self_subject_access_review(review).status.allowed


def pages():
    """a list comes in pages of one moment, and by selectors"""
    for at in range(7):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"p{at}", labels={"page": "odd" if at % 2 else "even"}))
    seen, token, moments = [], None, set()
    while token != "":
        page = core.list_namespaced_config_map(NAMESPACE, limit=3, _continue=token)
        seen.append([item.metadata.name for item in page.items])
        moments.add(page.metadata.resource_version)
        token = page.metadata._continue or ""
        # What is changed between the pages is not in them.
        core.create_namespaced_config_map(NAMESPACE, config_map(f"p9{len(seen)}"))
    equal(seen, [["p0", "p1", "p2"], ["p3", "p4", "p5"], ["p6"]])
    equal(len(moments), 1)
    first = core.list_namespaced_config_map(NAMESPACE, limit=1)
    equal(first.metadata.remaining_item_count, 9)
    names = [item.metadata.name for item in core.list_namespaced_config_map(NAMESPACE, label_selector="page=odd").items]
    equal(names, ["p1", "p3", "p5"])
    only = core.list_config_map_for_all_namespaces(field_selector=f"metadata.namespace={NAMESPACE},metadata.name=p3")
    equal([item.metadata.name for item in only.items], ["p3"])
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="page")
    equal(len(core.list_namespaced_config_map(NAMESPACE).items), 3)
    refused(lambda: core.list_namespaced_config_map(NAMESPACE, label_selector="a in"), 400, "BadRequest")
    refused(lambda: core.list_namespaced_config_map(NAMESPACE, _continue="nonsense"), 400, "BadRequest")


def deployment(name, **metadata):
    labels = {"app": name}
    container = client.V1Container(name="main", image="image:1", env=[client.V1EnvVar(name="A", value="1")])
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container]))
    spec = client.V1DeploymentSpec(replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name, **metadata), spec=spec)


def patches():
    """patches are strategic, merged, or of JSON operations"""
    apps.create_namespaced_deployment(NAMESPACE, deployment("d"))

    def patched(body, **more):
        return apps.patch_namespaced_deployment("d", NAMESPACE, body, **more).spec.template.spec.containers

    # A dict is a strategic merge: containers by their names.
    side = {"name": "side", "image": "image:2"}
    main = {"name": "main", "env": [{"name": "B", "value": "2"}]}
    containers = patched({"spec": {"template": {"spec": {"containers": [side, main]}}}})
    equal({one.name: one.image for one in containers}, {"main": "image:1", "side": "image:2"})
    equal({one.name for one in next(one for one in containers if one.name == "main").env}, {"A", "B"})
    # A list is operations.
    containers = patched([{"op": "replace", "path": "/spec/template/spec/containers", "value": [side]}])
    equal([one.name for one in containers], ["side"])
    containers = patched({"spec": {"template": {"spec": {"containers": [main | {"image": "i"}]}}}}, _content_type=MERGE_PATCH)
    equal([one.name for one in containers], ["main"])
    wrong = [{"op": "test", "path": "/spec/replicas", "value": 7}]
    refused(lambda: apps.patch_namespaced_deployment("d", NAMESPACE, wrong), 422, "Invalid")
    status = apps.patch_namespaced_deployment_status("d", NAMESPACE, {"spec": {"replicas": 9}, "status": {"replicas": 3}})
    equal((status.spec.replicas, status.status.replicas), (1, 3))
    dry = apps.patch_namespaced_deployment("d", NAMESPACE, {"spec": {"replicas": 5}}, dry_run="All")
    equal((dry.spec.replicas, apps.read_namespaced_deployment("d", NAMESPACE).spec.replicas), (5, 1))


def events_of(stream, count, function, *arguments, **more):
    told = []
    for event in stream.stream(function, *arguments, **more):
        item = event["object"]
        name = item["metadata"]["name"] if isinstance(item, dict) else item.metadata.name
        told.append((event["type"], name))
        if len(told) == count:
            stream.stop()
    return told


def watches():
    """a watch tells what happens, ends, and is resumed where it was, also after a restart"""
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, config_map("w"))
    core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"v": "2"}})
    core.delete_namespaced_config_map("w", NAMESPACE)
    happened = [("ADDED", "w"), ("MODIFIED", "w"), ("DELETED", "w")]
    stream = watch.Watch()
    equal(events_of(stream, 3, core.list_namespaced_config_map, NAMESPACE, resource_version=start), happened)
    # From what it saw, nothing comes twice; and it ends when its time is up.
    resumed = stream.resource_version
    equal(events_of(watch.Watch(), 9, core.list_namespaced_config_map, NAMESPACE, resource_version=resumed, timeout_seconds=1), [])
    restart()
    core.create_namespaced_config_map(NAMESPACE, config_map("x"))
    again = watch.Watch()
    equal(events_of(again, 1, core.list_namespaced_config_map, NAMESPACE, resource_version=resumed), [("ADDED", "x")])
    equal(events_of(watch.Watch(), 3, core.list_namespaced_config_map, NAMESPACE, resource_version=start), happened)
    # The client goes on by itself over the end of a watch.
    told, following = [], watch.Watch()

    def follow():
        told.extend(events_of(following, 2, core.list_namespaced_config_map, NAMESPACE, resource_version=again.resource_version))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    core.create_namespaced_config_map(NAMESPACE, config_map("y"))
    core.delete_namespaced_config_map("y", NAMESPACE)
    thread.join(30)
    equal(told, [("ADDED", "y"), ("DELETED", "y")])


def too_old():
    """what lies too far back is told to be gone, to a watch and to a page"""
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    page = core.list_namespaced_config_map(NAMESPACE, limit=1)
    # The server of this test remembers two hundred revisions.
    for at in range(230):
        core.patch_namespaced_config_map("x", NAMESPACE, {"data": {"v": str(at)}})
    # What a server saw happen it can tell for longer.
    equal(events_of(watch.Watch(), 1, core.list_namespaced_config_map, NAMESPACE, resource_version=start), [("MODIFIED", "x")])
    restart()
    try:
        events_of(watch.Watch(), 1, core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=5)
        raise AssertionError("a revision that is gone was watched")
    except ApiException as error:
        assert error.status == 410 and "Expired" in f"{error.reason} {error.body}", error
    status = refused(lambda: core.list_namespaced_config_map(NAMESPACE, limit=1, _continue=page.metadata._continue), 410, "Expired")
    rest = core.list_namespaced_config_map(NAMESPACE, _continue=status["metadata"]["continue"])
    assert rest.items, "the token of a 410 does not go on"


def deletions():
    """what is owned goes before, after or without its owner, as a deletion says"""
    for propagation in ["Background", "Foreground", "Orphan"]:
        name = propagation.lower()
        owner = apps.create_namespaced_deployment(NAMESPACE, deployment(name))
        reference = client.V1OwnerReference(
            api_version="apps/v1", kind="Deployment", name=name, uid=owner.metadata.uid, block_owner_deletion=True)
        core.create_namespaced_config_map(NAMESPACE, config_map(name, owner_references=[reference]))
        stale = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
        refused(lambda: apps.delete_namespaced_deployment(name, NAMESPACE, body=stale), 409, "Conflict")
        apps.delete_namespaced_deployment(name, NAMESPACE, propagation_policy=propagation)

        def gone(read):
            try:
                read(name, NAMESPACE)
            except ApiException as error:
                return error.status == 404

        eventually(f"{name} is gone", lambda: gone(apps.read_namespaced_deployment))
        if propagation == "Orphan":
            equal(core.read_namespaced_config_map(name, NAMESPACE).metadata.owner_references, None)
        elif propagation == "Foreground":
            assert gone(core.read_namespaced_config_map), "the owner went first"
        else:
            eventually(f"what {name} owned is gone", lambda: gone(core.read_namespaced_config_map))


def errors():
    """refusals are what the client expects"""
    status = refused(lambda: core.read_namespaced_config_map("none", NAMESPACE), 404, "NotFound")
    equal(status["message"], 'configmaps "none" not found')
    refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("x")), 409, "AlreadyExists")
    status = refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("No Name")), 422, "Invalid")
    equal([cause["field"] for cause in status["details"]["causes"]], ["metadata.name"])
    status = refused(lambda: core.create_namespaced_config_map("none", config_map("a")), 404, "NotFound")
    equal(status["message"], 'namespaces "none" not found')
    stranger = client.Configuration.get_default_copy()
    stranger.refresh_api_key_hook = None
    stranger.api_key = {"authorization": "Bearer nonsense"}
    refused(lambda: client.CoreV1Api(client.ApiClient(stranger)).list_node(), 401, "Unauthorized")


DEFINITION = {
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "size": {"type": "integer", "minimum": 1, "default": 3}, "color": {"type": "string"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}
GADGETS = ("example.com", "v1", NAMESPACE, "gadgets")


def gadget(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def custom_objects():
    """a definition's objects are made, paged, patched, watched and deleted as custom objects"""
    extensions = client.ApiextensionsV1Api()
    extensions.create_custom_resource_definition(DEFINITION)

    def established():
        conditions = extensions.read_custom_resource_definition("gadgets.example.com").status.conditions or []
        return any(one.type == "Established" and one.status == "True" for one in conditions)

    eventually("gadgets are established", established)
    made = custom.create_namespaced_custom_object(*GADGETS, gadget("a", color="red"))
    equal(made["spec"], {"color": "red", "size": 3})
    status = refused(lambda: custom.create_namespaced_custom_object(*GADGETS, gadget("b", size=0)), 422, "Invalid")
    equal([cause["field"] for cause in status["details"]["causes"]], ["spec.size"])
    for name in ["b", "c"]:
        custom.create_namespaced_custom_object(*GADGETS, gadget(name))
    first = custom.list_namespaced_custom_object(*GADGETS, limit=2)
    rest = custom.list_namespaced_custom_object(*GADGETS, limit=2, _continue=first["metadata"]["continue"])
    names = [[one["metadata"]["name"] for one in page["items"]] for page in (first, rest)]
    equal(names, [["a", "b"], ["c"]])

    stream, start = watch.Watch(), rest["metadata"]["resourceVersion"]
    patched = custom.patch_namespaced_custom_object(*GADGETS, "a", {"spec": {"size": 4}}, _content_type=MERGE_PATCH)
    equal((patched["spec"]["size"], patched["metadata"]["generation"]), (4, 2))
    patched = custom.patch_namespaced_custom_object(
        *GADGETS, "a", [{"op": "replace", "path": "/spec/size", "value": 5}], _content_type=JSON_PATCH)
    equal(patched["spec"]["size"], 5)
    patched["status"], patched["spec"]["size"] = {"is": "well"}, 9
    status = custom.replace_namespaced_custom_object_status(*GADGETS, "a", patched)
    equal((status["status"], status["spec"]["size"], status["metadata"]["generation"]), ({"is": "well"}, 5, 3))
    refused(lambda: custom.replace_namespaced_custom_object(*GADGETS, "a", made), 409, "Conflict")
    custom.delete_namespaced_custom_object(*GADGETS, "b", propagation_policy="Foreground")
    told = events_of(stream, 4, custom.list_namespaced_custom_object, *GADGETS, resource_version=start)
    equal(told[:3], [("MODIFIED", "a")] * 3)


def dynamic_client():
    """the dynamic client finds kinds by discovery, and works on them"""
    known = dynamic.DynamicClient(client.ApiClient())
    gadgets = known.resources.get(api_version="example.com/v1", kind="Gadget")
    made = gadgets.create(body=gadget("d", color="blue"), namespace=NAMESPACE)
    equal(made.spec.size, 3)
    patched = gadgets.patch(
        body={"spec": {"size": 7}}, name="d", namespace=NAMESPACE, content_type=MERGE_PATCH)
    equal(patched.spec.size, 7)
    assert "d" in [one.metadata.name for one in gadgets.get(namespace=NAMESPACE).items]
    told = []
    for event in gadgets.watch(namespace=NAMESPACE, name="d", resource_version=made.metadata.resourceVersion, timeout=5):
        told.append((event["type"], event["object"].spec.size))
        break
    equal(told, [("MODIFIED", 7)])
    gadgets.delete(name="d", namespace=NAMESPACE)
    try:
        gadgets.get(name="d", namespace=NAMESPACE)
        raise AssertionError("it is still there")
    except dynamic.exceptions.NotFoundError as error:
        equal(error.status, 404)
    services = known.resources.get(api_version="v1", kind="Service")
    service = services.create(namespace=NAMESPACE, body={"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    equal(service.kind, "Service")


def ends():
    """a definition and a namespace go with all that is in them"""
    client.ApiextensionsV1Api().delete_custom_resource_definition("gadgets.example.com")
    core.delete_namespace(NAMESPACE)

    def gone():
        try:
            core.read_namespace(NAMESPACE)
        except ApiException as error:
            return error.status == 404

    eventually("the namespace is gone", gone)
    refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("a")), 404, "NotFound")

    def unknown():
        try:
            custom.list_namespaced_custom_object(*GADGETS)
        except ApiException as error:
            return error.status == 404

    eventually("gadgets are unknown", unknown)


run(documents, builtins, pages, patches, watches, errors, deletions, custom_objects, dynamic_client, too_old, ends)
