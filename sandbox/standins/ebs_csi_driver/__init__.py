"""A stand-in for aws-ebs-csi-driver: its command line, gRPC services, and use of EC2, IMDS and devices."""
