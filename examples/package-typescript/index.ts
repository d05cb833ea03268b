// An EBS volume and its driver on Nomad: the components, out of a package that is written in Python.
import * as nomad from "@pulumi/nomad-csi";
import * as pulumi from "@pulumi/pulumi";

const settings = new pulumi.Config();
const zone = settings.get("zone") ?? "us-west-2a";
const placement = { namespace: "default", datacenters: ["*"], nodePool: "default" };

const volumes = new nomad.ZonalVolumes("ebs", {
    volumes: [
        {
            name: "orders",
            zone,
            sizeGib: settings.getNumber("sizeGib") ?? 10,
            protect: settings.getBoolean("protect") ?? true,
        },
    ],
    driverTags: { "ebs.csi.aws.com/cluster": "true" },
});

const container = { privileged: false, networkMode: "", ipcMode: "", mounts: [], env: {} };
const driverArgs = ["--endpoint=${CSI_ENDPOINT}", "--logtostderr", "--v=2"];
const plugin = new nomad.CsiPlugin("ebs-plugin", {
    pluginId: "aws-ebs0",
    placement,
    constraints: [],
    image: "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.48.0",
    roles: [
        { ...container, role: "controller", jobId: "aws-ebs0-controller", args: ["controller", ...driverArgs] },
        { ...container, role: "node", jobId: "aws-ebs0-node", args: ["node", ...driverArgs], privileged: true },
    ],
    controllerCount: 2,
    configPath: "",
    mountDir: "/csi",
    stagePublishBaseDir: "",
    healthTimeout: "30s",
    cpuMhz: 100,
    memoryMib: 128,
    zones: [zone],
    zoneKeys: ["topology.ebs.csi.aws.com/zone"],
    timeoutS: 300,
});

const volume = new nomad.CsiVolume("orders", {
    volumeId: "orders",
    namespace: placement.namespace,
    pluginId: plugin.pluginId,
    externalId: volumes.volumeIds.apply((ids) => ids["orders"]),
    sizeGib: volumes.sizesGib.apply((sizes) => sizes["orders"]),
    accessMode: "single-node-writer",
    attachmentMode: "file-system",
    topologyKey: plugin.topologyKey,
    zone,
    fsType: "ext4",
});

export const volumeId = volume.externalId;
export const registered = volume.registrationId;
