# The AWS half of the stack: policy, attachment, volumes. What is to be made comes from wanted.json.

variable "wanted" {
  type = string
}

locals {
  wanted = jsondecode(file(var.wanted))
}

provider "aws" {}

resource "aws_iam_policy" "driver" {
  name_prefix = "terraform-"
  policy      = local.wanted.policy
}

resource "aws_iam_role_policy_attachment" "driver" {
  role       = local.wanted.role
  policy_arn = aws_iam_policy.driver.arn
}

resource "aws_ebs_volume" "all" {
  for_each          = { for volume in local.wanted.volumes : volume.name => volume }
  availability_zone = each.value.zone
  size              = each.value.size_gib
  type              = each.value.type
  encrypted         = each.value.encrypted
  tags              = each.value.tags
}

output "volumes" {
  value = { for name, volume in aws_ebs_volume.all : name => volume.id }
}
