"""The provider's configuration: how Nomad is reached, and in which AWS account the volumes are."""

from nomad_stateful.schema.common import account_id
from nomad_stateful.schema.fields import boolean, text
from nomad_stateful.schema.properties import Boolean, Properties, Text


class ProviderProperties(Properties):
    """The connection to Nomad, and the AWS account of its volumes."""

    address: Text = text("Nomad's address, http(s)://host:port; by default NOMAD_ADDR.", default=None)
    secret_id: Text = text("Nomad ACL token; by default NOMAD_TOKEN.", secret=True, default=None)
    region: Text = text("Nomad region; by default NOMAD_REGION.", default=None)
    ca_file: Text = text("File with the CA of Nomad's certificate; by default NOMAD_CACERT.", default=None)
    ca_pem: Text = text("The CA itself, in place of a file.", default=None)
    cert_file: Text = text("File with the client certificate; by default NOMAD_CLIENT_CERT.", default=None)
    cert_pem: Text = text("The client certificate itself, in place of a file.", default=None)
    key_file: Text = text("File with the client certificate's key; by default NOMAD_CLIENT_KEY.", default=None)
    key_pem: Text = text("The key itself, in place of a file.", secret=True, default=None)
    skip_verify: Boolean = boolean(
        "Do not verify Nomad's certificate; by default NOMAD_SKIP_VERIFY.",
        default=None,
    )
    aws_region: Text = text("AWS region of the volumes; by default the AWS configuration's.", default=None)
    aws_account_id: Text = account_id("AWS account of the volumes; each resource remembers its own.")
    aws_config: Text = text(
        "The aws provider's configuration as JSON; by default all of it is in the environment.",
        secret=True,
        default=None,
    )


CONFIG = ProviderProperties.table.inputs
