"""The seam: the only place that changes moto. Each hook hands moto's own method to ours, which calls it when it may."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.amis import Ami
from moto.ec2.models.elastic_block_store import EBSBackend, VolumeModification
from moto.ec2.models.instances import Instance, InstanceBackend
from moto.ec2.models.tags import TagBackend
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.ec2.responses.elastic_block_store import ElasticBlockStore as VolumeRequests
from moto.ec2.responses.instances import InstanceResponse
from moto.efs.models import EFSBackend
from moto.iam.models import IAMBackend

from sandbox.cloud import account_limits, object_lock
from sandbox.cloud.ebs import FORCE, INTERNAL, ElasticBlockStore
from sandbox.cloud.efs import ElasticFileSystem
from sandbox.cloud.idempotency import REQUEST, Tokens, create_access_point, token_request
from sandbox.cloud.power import Power
from sandbox.cloud.volume_faults import VolumeFaults
from sandbox.machine.errors import ApiError, CloudError


def install(ebs: ElasticBlockStore, power: Power, efs: ElasticFileSystem) -> None:
    """Puts our behaviour around moto's, for the whole process and for good."""
    for name in (
        *("create_volume", "delete_volume", "modify_volume", "create_snapshot", "copy_snapshot", "delete_snapshot"),
        *("attach_volume", "detach_volume"),
    ):
        _wrap(EBSBackend, name, getattr(ebs, name))
    for name in (
        *("create_file_system", "delete_file_system", "create_mount_target", "delete_mount_target"),
        *("create_access_point", "delete_access_point"),
    ):
        _wrap(EFSBackend, name, getattr(efs, name))
    _wrap(EFSBackend, "create_access_point", create_access_point)
    _wrap(EC2BaseResponse, "_filters_from_querystring", account_limits.filters)
    _wrap(VolumeRequests, "create_volume", account_limits.create_volume)
    _wrap(TagBackend, "create_tags", account_limits.create_tags)
    _wrap(IAMBackend, "attach_role_policy", account_limits.attach_role_policy)
    _wrap(IAMBackend, "delete_policy", account_limits.delete_policy)
    install_object_lock()
    _wrap(InstanceBackend, "run_instances", power.run_instances)
    _wrap(InstanceResponse, "run_instances", Tokens().run_instances)
    for name in ("start", "stop", "reboot", "terminate"):
        _wrap(Instance, name, getattr(power, name))
    _during(Ami, "__init__", INTERNAL, lambda _image: True)
    # moto's models never see these parameters of the requests.
    for requests, name in ((VolumeRequests, "detach_volume"), (InstanceResponse, "stop_instances")):
        _during(requests, name, FORCE, lambda request: bool(request._get_bool_param("Force", False)))  # noqa: SLF001
    for requests, name in ((VolumeRequests, "create_volume"), (InstanceResponse, "run_instances")):
        _during(requests, name, REQUEST, token_request)


def install_object_lock() -> None:
    """Puts S3's own strictness around moto's Object Lock."""
    for owner, name, behaviour in object_lock.HOOKS:
        _wrap(owner, name, behaviour)


def install_faults(volumes: VolumeFaults) -> None:
    """Puts faults that can be switched on around what `install` made of moto."""
    for name in (
        *("create_volume", "describe_volumes", "modify_volume", "attach_volume", "detach_volume", "create_snapshot"),
    ):
        _wrap(EBSBackend, name, getattr(volumes, name))
    # moto's modifications are completed as they begin.
    VolumeModification.modification_state = property(lambda self: getattr(self, "still", "completed"))


def _wrap(owner: type, name: str, behaviour: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            return behaviour(original, *args, **kwargs)
        except ApiError as error:
            raise EC2ClientError(error.code, error.message) from error
        except CloudError as error:
            raise EC2ClientError("InternalError", str(error)) from error

    setattr(owner, name, hook)


def _during(owner: type, name: str, variable: ContextVar[Any], read: Callable[[Any], Any]) -> None:
    """While the method runs, the variable has what is read from its object."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = variable.set(read(self))
        try:
            return original(self, *args, **kwargs)
        finally:
            variable.reset(token)

    setattr(owner, name, hook)
