# PostgreSQL server with its data on a CSI volume.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/postgres.nomad.hcl

variable "job" {
  description = "Job id and where the job may run. The id names the service too, and the variable nomad/jobs/ID with the password."
  type        = object({ id = string, namespace = string, datacenters = list(string), node_pool = string })
}

variable "volume" {
  description = "The registered volume; release names the gate that guards it, so that the job follows when it is replaced."
  type        = object({ id = string, access_mode = string, attachment_mode = string, mount_path = string, release = string })
}

variable "task" {
  description = "How the server runs: command is the image's entrypoint, and an empty user the image's own. The server drops to uid, which alone may read its secrets."
  type        = object({ image = string, command = string, args = list(string), user = string, uid = number, kill_timeout = string, cpu_mhz = number, memory_mib = number })
}

variable "service" {
  description = "Port on the client (0 lets Nomad choose one), where the service is registered, and its check."
  type        = object({ port = number, provider = string, check_interval = string, check_timeout = string })
}

variable "restart" {
  description = "Restarts on the same client."
  type        = object({ attempts = number, interval = string, delay = string })
}

variable "health" {
  description = "How long an allocation may take to be healthy, such as 300s, and the deployment to make progress, which has to be longer."
  type        = object({ deadline = string, progress_deadline = string })
}

variable "disconnect" {
  description = "How long a client that reaches no server lets it run, such as 2m; empty for as long as it likes."
  type        = object({ stop_on_client_after = string })
}

variable "config" {
  description = "Server options by name, read from a file. Values are Nomad templates."
  type        = map(string)
}

variable "init_scripts" {
  description = "SQL by file name (NAME.sql), run in the order of the names when the data directory is made. They are Nomad templates."
  type        = map(string)
}

variable "tls" {
  description = "off, preferred or required. Without certificate the server makes one of its own; otherwise it is given the items tls_certificate and tls_key of the variable nomad/jobs/ID. By ca, clients verify it."
  type        = object({ mode = string, certificate = bool, ca = bool })
}

variable "databases" {
  description = "Databases that are made when they are missing."
  type        = list(string)
}

variable "accounts" {
  description = "Accounts that are made, or given their password and privileges, each time the server starts. The first with ALL PRIVILEGES owns its database, and others with them act as that one; an empty database means a role's privileges, on all. Their passwords are the items password_NAME of the variable nomad/jobs/ID."
  type        = list(object({ name = string, privileges = string, database = string }))
}

locals {
  secrets  = "$${NOMAD_SECRETS_DIR}" # kept in memory
  password = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .root_password }}{{ end }}"
  data_dir = [for one in var.task.args : trimprefix(one, "--data_directory=") if trimprefix(one, "--data_directory=") != one][0]
  server_args = concat(
    ["--config_file=$${NOMAD_TASK_DIR}/postgresql.conf", "--hba_file=$${NOMAD_TASK_DIR}/pg_hba.conf"],
    ["--listen_addresses=*", "--unix_socket_directories=$${NOMAD_ALLOC_DIR}/${local.socket_folder}"],
    ["--password_encryption=scram-sha-256"],
    var.task.args,
    var.tls.mode == "off" ? ["--ssl=off"] : [],
    !var.tls.certificate ? [] : [
      "--ssl=on", "--ssl_cert_file=${local.secrets}/server-cert.pem", "--ssl_key_file=${local.secrets}/server-key.pem",
    ],
  )
  # The other tasks of the group log in by it: no password of theirs leaves the allocation.
  socket_folder = "postgres"
  # What initdb and a person wrote into the data directory holds where nothing else is set.
  config = concat(["include_if_exists = '${local.data_dir}/postgresql.conf'\n"], [for name, value in var.config : "${name} = ${value}\n"])
  # By the first line that fits. An account of the program's own making may enter its own database alone.
  encrypted = var.tls.mode == "required" ? "hostssl" : "host"
  hba = concat(["local all all scram-sha-256"], flatten([for one in var.accounts : one.database == "" ? [] : [
    "${local.encrypted} \"${one.database}\" \"${one.name}\" all scram-sha-256", "host all \"${one.name}\" all reject",
  ]]), ["${local.encrypted} all all all scram-sha-256", ""])
  init_folder = "docker-entrypoint-initdb.d"
  start       = file("jobs/postgres/start.sh")
  accounts    = file("jobs/postgres/accounts.sh")
  server_files = concat(
    [
      # An entrypoint takes a data directory for whole as soon as it has PG_VERSION, also where its first start was cut
      # off. So that happens in a folder beside it, without network, which gets the directory's name at its end.
      { path = "local/start.sh", perms = "0755", text = local.start },
      { path = "local/postgresql.conf", perms = "0644", text = join("", local.config) },
      { path = "local/pg_hba.conf", perms = "0644", text = join("\n", local.hba) },
      # The image reads it once, when the data directory is made; each start sets it (a volume may be restored, or kept
      # by a destroy that stopped).
      { path = "${local.secrets}/password", perms = "0400", uid = var.task.uid, text = local.password },
      { path = "${local.secrets}/password.sql", perms = "0400", uid = var.task.uid, text = "${join("\n", local.unseen)}\nALTER ROLE postgres LOGIN SUPERUSER CONNECTION LIMIT -1 VALID UNTIL 'infinity' PASSWORD '${local.password}'\n" },
    ],
    [for name, text in var.init_scripts : { path = "local/${local.init_folder}/${name}", perms = "0644", text = text }],
    [for item, name in { tls_certificate = "server-cert.pem", tls_key = "server-key.pem" } : {
      path                               = "${local.secrets}/${name}", perms = "0400", uid = var.task.uid, change = "restart"
      text                               = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .${item} }}{{ end }}\n"
    } if var.tls.certificate],
  )
  # Whatever the files of the server say.
  unseen = [for name, value in {
    default_transaction_read_only      = "off", log_statement = "none", log_transaction_sample_rate = "0", log_duration = "off"
    log_min_duration_statement         = "-1", log_min_duration_sample = "-1", "pg_stat_statements.track" = "none"
    "pg_stat_statements.track_utility" = "off"
  } : "SET ${name} = '${value}'"]
  all     = ["ALL", "ALL PRIVILEGES"]
  owners  = { for one in var.accounts : one.database => one.name... if contains(local.all, one.privileges) }
  granted = [for one in var.accounts : one if one.database != "" && !contains(local.all, one.privileges)]
  # Accounts of the program's making are members of a role, by which those that the settings no longer have are found.
  marked   = "FROM pg_auth_members JOIN pg_roles mark ON mark.oid = roleid AND mark.rolname = 'nomad_stateful_accounts' JOIN pg_roles one ON one.oid = member"
  as_owner = flatten([for names in values(local.owners) : [for name in slice(names, 1, length(names)) : "'${name} ${names[0]}'"]])
  accounts_sql = length(var.databases) + length(var.accounts) == 0 ? [] : concat(
    ["SELECT 'CREATE ROLE nomad_stateful_accounts' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'nomad_stateful_accounts') \\gexec"],
    [for name in var.databases : "SELECT format('CREATE DATABASE %I', '${name}') WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '${name}') \\gexec"],
    flatten([for one in var.accounts : [
      "SELECT format('CREATE ROLE %I', '${one.name}') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${one.name}') \\gexec",
      "ALTER ROLE \"${one.name}\" LOGIN;",
      "\\password \"${one.name}\"",
      "GRANT nomad_stateful_accounts TO \"${one.name}\";",
    ]]),
    [
      "SELECT format('ALTER ROLE %I NOLOGIN', one.rolname) ${local.marked} WHERE one.rolname NOT IN (''${join("", [for one in var.accounts : ", '${one.name}'"])}) \\gexec",
      "SELECT format('REVOKE %I FROM %I', pg_get_userbyid(held.roleid), one.rolname) ${local.marked} JOIN pg_auth_members held ON held.member = one.oid AND held.roleid IN (SELECT one.oid ${local.marked}) WHERE one.rolname || ' ' || pg_get_userbyid(held.roleid) NOT IN (''${join("", [for one in local.as_owner : ", ${one}"])}) \\gexec",
    ],
    # A dump lacks no row that a policy hides, and no large object, which the role leaves out.
    flatten([for one in var.accounts : one.database != "" ? [] : [
      "GRANT ${one.privileges} TO \"${one.name}\";",
      "ALTER ROLE \"${one.name}\" BYPASSRLS;",
      "ALTER ROLE \"${one.name}\" SET lo_compat_privileges = on;",
    ]]),
    flatten([for database, names in local.owners : concat(["ALTER DATABASE \"${database}\" OWNER TO \"${names[0]}\";"], flatten([
      # What they make is the owner's too.
      for name in slice(names, 1, length(names)) : [
        "GRANT \"${names[0]}\" TO \"${name}\";", "ALTER ROLE \"${name}\" IN DATABASE \"${database}\" SET role = \"${names[0]}\";",
      ]
    ]))]),
    flatten([for one in local.granted : [
      "\\connect \"${one.database}\"",
      "ALTER ROLE \"${one.name}\" IN DATABASE \"${one.database}\" RESET role;",
      "SELECT format('GRANT USAGE ON SCHEMA %1$I TO \"${one.name}\"; REVOKE ALL ON ALL TABLES IN SCHEMA %1$I FROM \"${one.name}\"; GRANT ${one.privileges} ON ALL TABLES IN SCHEMA %1$I TO \"${one.name}\"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA %1$I TO \"${one.name}\"', nspname) FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' \\gexec",
      # What the owner makes later.
      "SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %1$I GRANT USAGE ON SCHEMAS TO \"${one.name}\"; ALTER DEFAULT PRIVILEGES FOR ROLE %1$I REVOKE ALL ON TABLES FROM \"${one.name}\"; ALTER DEFAULT PRIVILEGES FOR ROLE %1$I GRANT ${one.privileges} ON TABLES TO \"${one.name}\"; ALTER DEFAULT PRIVILEGES FOR ROLE %1$I GRANT USAGE ON SEQUENCES TO \"${one.name}\"', pg_get_userbyid(datdba)) FROM pg_database WHERE datname = current_database() \\gexec",
    ]]),
  )
}

job "postgres" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui { description = "PostgreSQL server on a CSI volume." }

  # No canary: the volume has a single writer, so a second copy could never start.
  update {
    max_parallel      = 1
    canary            = 0
    health_check      = "checks"
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "postgres" {
    count = 1

    meta {
      volume_release = var.volume.release
      # A client knows this time of an allocation as it was when it started: a change has to start another.
      stop_on_client_after = var.disconnect.stop_on_client_after
    }

    volume "data" {
      type            = "csi"
      source          = var.volume.id
      read_only       = false
      access_mode     = var.volume.access_mode
      attachment_mode = var.volume.attachment_mode
    }

    network {
      port "db" {
        static = var.service.port
        to     = 5432
      }
    }

    restart {
      attempts = var.restart.attempts
      interval = var.restart.interval
      delay    = var.restart.delay
      mode     = "delay"
    }

    # A client that is cut off stops its allocations by itself and unmounts. Nomad waits that long before it starts others.
    dynamic "disconnect" {
      for_each = var.disconnect.stop_on_client_after == "" ? [] : [1]
      content { stop_on_client_after = var.disconnect.stop_on_client_after }
    }

    task "postgres" {
      driver = "docker"
      user   = var.task.user
      # No kill_signal: told to send one, Nomad fails on a container that a reboot has ended, and its claim stays. Docker
      # sends the image's own, SIGINT: a fast shutdown, which waits for no client.
      kill_timeout = var.task.kill_timeout

      config {
        image = var.task.image
        # The image's entrypoint runs a command that is no server as it is.
        command = "sh"
        args    = concat(["${NOMAD_TASK_DIR}/start.sh"], local.server_args, ["--port=5432"])
        ports   = ["db"]
        mount = [for folder in length(var.init_scripts) == 0 ? [] : [local.init_folder] : {
          type     = "bind"
          source   = "local/${folder}"
          target   = "/${folder}"
          readonly = true
        }]
        # Docker's 64 MiB are too few for parallel queries.
        shm_size = var.task.memory_mib * 524288
      }

      env {
        POSTGRES_PASSWORD_FILE = "${NOMAD_SECRETS_DIR}/password"
        START_ENTRYPOINT       = var.task.command
        START_NAME             = var.job.id
        START_SOCKET           = "${NOMAD_ALLOC_DIR}/${local.socket_folder}/.s.PGSQL.5432"
        START_TLS              = var.tls.mode == "off" || var.tls.certificate ? "given" : "own"
        START_UID              = var.task.uid
      }

      dynamic "template" {
        for_each = local.server_files
        content {
          destination = template.value.path
          perms       = template.value.perms
          uid         = try(template.value.uid, null)
          gid         = try(template.value.uid, null)
          change_mode = try(template.value.change, "noop")
          data        = template.value.text
        }
      }

      volume_mount {
        volume      = "data"
        destination = var.volume.mount_path
        read_only   = false
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      service {
        name     = var.job.id
        port     = "db"
        provider = var.service.provider

        check {
          type     = "tcp"
          interval = var.service.check_interval
          timeout  = var.service.check_timeout
        }
      }
    }

    dynamic "task" {
      for_each = length(local.accounts_sql) == 0 ? [] : [1]
      labels   = ["accounts"]
      content {
        driver = "docker"
        user   = var.task.user

        # After the server: the deployment is healthy once the accounts are there.
        lifecycle {
          hook    = "poststart"
          sidecar = false
        }

        config {
          image = var.task.image
          args  = ["sh", "${NOMAD_TASK_DIR}/accounts.sh"]
        }

        env {
          PGSERVICEFILE = "${NOMAD_SECRETS_DIR}/client.conf"
          PGSERVICE     = "server"
        }

        dynamic "template" {
          for_each = [
            { path = "local/accounts.sh", perms = "0755", text = local.accounts },
            { path = "${local.secrets}/client.conf", perms = "0400", text = "[server]\nhost={{ env \"NOMAD_ALLOC_DIR\" }}/${local.socket_folder}\nport=5432\nuser=postgres\npassword=${local.password}\n" },
            { path = "${local.secrets}/accounts.sql", perms = "0400", text = "${join("\n", local.accounts_sql)}\n" },
            # Each is asked for twice.
            { path = "${local.secrets}/passwords", perms = "0400", text = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}${join("", flatten([for one in var.accounts : ["{{ .password_${one.name} }}\n", "{{ .password_${one.name} }}\n"]]))}{{ end }}" },
          ]
          content {
            destination = template.value.path
            perms       = template.value.perms
            change_mode = "noop"
            data        = template.value.text
          }
        }

        resources {
          cpu    = 50
          memory = 64
        }
      }
    }
  }
}
