"""The sandbox's EC2: moto as the API, Linux namespaces as the instances, loop devices as the EBS volumes."""

from sandbox.machine.inventory import enter as enter
