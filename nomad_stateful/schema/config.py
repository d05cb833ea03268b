"""The provider's configuration: how Nomad is reached."""

from nomad_stateful.schema.fields import boolean, text

CONFIG = {
    "address": text("Nomad's address, http(s)://host:port; by default NOMAD_ADDR."),
    "secretId": text("Nomad ACL token; by default NOMAD_TOKEN.", secret=True),
    "region": text("Nomad region; by default NOMAD_REGION."),
    "caFile": text("File with the CA of Nomad's certificate; by default NOMAD_CACERT."),
    "caPem": text("The CA itself, in place of a file."),
    "certFile": text("File with the client certificate; by default NOMAD_CLIENT_CERT."),
    "certPem": text("The client certificate itself, in place of a file."),
    "keyFile": text("File with the client certificate's key; by default NOMAD_CLIENT_KEY."),
    "keyPem": text("The key itself, in place of a file.", secret=True),
    "skipVerify": boolean("Do not verify Nomad's certificate; by default NOMAD_SKIP_VERIFY."),
}
