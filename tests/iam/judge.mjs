// Judges requests by policies, as AWS would: reads {policies: [...], requests: [...]} from standard input and writes
// a row of verdicts for each policy, {allowed, statements} or {error}, one for each request.
import { runSimulation } from '@cloud-copilot/iam-simulate'

async function judge(policy, request) {
  const simulation = {
    request: {
      principal: request.principal,
      action: request.action,
      resource: { resource: request.resource, accountId: request.accountId },
      contextVariables: request.context,
    },
    identityPolicies: [{ name: 'driver', policy }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    resourcePolicy: request.resourcePolicy,
  }
  const answer = await runSimulation(simulation, {})
  if (answer.resultType === 'error') return { error: JSON.stringify(answer.errors) }
  const results = answer.resultType === 'single' ? [answer.result] : answer.results
  // A condition key that does not exist for the action would be left out in silence.
  const ignored = results.flatMap((result) => result.ignoredContextKeys ?? [])
  if (ignored.length) return { error: `${request.action} on ${request.resource} knows no ${ignored.join(', ')}` }
  const statements = results.flatMap((result) => result.analysis.identityAnalysis?.allowStatements ?? [])
  return { allowed: answer.overallResult === 'Allowed', statements: statements.map((one) => one.explain?.identifier) }
}

let text = ''
for await (const chunk of process.stdin) text += chunk
const { policies, requests } = JSON.parse(text)
const verdicts = []
for (const policy of policies) {
  const row = []
  for (const request of requests) row.push(await judge(policy, request))
  verdicts.push(row)
}
process.stdout.write(JSON.stringify(verdicts))
