"""Strings that mean something to HCL, shells, SQL, option files, templates, or to whoever reads them carelessly."""

from hypothesis import strategies as st

LONG = "x" * 5_000
TOO_LONG = "x" * 200_000
FRAGMENTS = (
    *(
        "'",
        '"',
        "`",
        "\\",
        "\\n",
        "$",
        "%",
        "{",
        "}",
        "${",
        "%{",
        "$${",
        "$$${",
        "%%%{",
        "{{",
        "}}",
        ";",
        "#",
        "//",
        "/*",
    ),
    *(
        "=",
        ",",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\x7f",
        "\b\f\v",
        "\x1b[2J",
        " ",
        "-",
        "--",
        "/",
        "..",
        "*",
        "@",
        ":",
        "|",
        "&",
    ),
    *("😀", "é", "e\u0301", "\u212b", "\u202e", "\u2028", "\ufeff", "ß", "a", "x1", "EOF", "SCRIPT"),
)
CLASSICS = (
    *FRAGMENTS,
    *("", '${file("/etc/passwd")}', "%{ if true }x%{ endif }", "$(id)", "`id`", "; id #", "a' OR '1'='1", "\ud800"),
    *("`; DROP DATABASE mysql; --", "x'@'%'; GRANT ALL ON *.* TO 'x", '{{ env "HOME" }}', "<<-SCRIPT\nid\nSCRIPT"),
    *(
        "--init-file=/tmp/x",
        "-rf",
        "a=b,c=d",
        '"] }\njob "evil" {}',
        "us-west-2a)|(.*",
        "../../etc/passwd",
        "null",
        "~",
    ),
    *("${node.class}", "ALL PRIVILEGES", "SELECT ON mysql TO x", "local/../../x", "/a/../../b", "0 3 * * $(id)", "a\n"),
    *(LONG, TOO_LONG),
)

strings = st.one_of(
    st.sampled_from(CLASSICS),
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=6).map("".join),
    st.text(),
)
