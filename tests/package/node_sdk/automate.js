// Runs an example through the Automation API: the engine talks to this process in the place of a language host.
"use strict";
const path = require("node:path");

async function main(folder, operation, settings) {
    const load = (name) => require(require.resolve(name, { paths: [folder] }));
    const automation = load("@pulumi/pulumi/automation");
    const stack = await automation.LocalWorkspace.createOrSelectStack(
        {
            stackName: "test",
            projectName: "nomad-stateful-typescript",
            program: async () => load(path.join(folder, "bin/index.js")),
        },
        { workDir: folder },
    );
    await stack.setAllConfig(
        Object.fromEntries(Object.entries(JSON.parse(settings)).map(([key, value]) => [key, { value }])),
    );
    const done = await stack[operation]({ color: "never", onOutput: (text) => process.stdout.write(text) });
    process.stdout.write(`\n${JSON.stringify(done.changeSummary ?? done.summary.resourceChanges)}\n`);
}

main(...process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exit(1);
});
