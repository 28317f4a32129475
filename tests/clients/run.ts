/**
 * `npm run clients`: Python's clients (openai, anthropic, google-genai, LangChain, litellm) against a gateway and a
 * simulator, and LiteLLM's client for its proxy. Makes a virtual environment with the versions of requirements.txt, kept for the next run. Prints a table,
 * and ends with status 1 when a case fails. Skips with a word where there is no Python.
 */
import { join } from 'node:path'
import { startSimulator } from '../../simulator/index.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { pythonEnvironment } from '../support/python-environment.ts'
import { matrixConfig, providerRows } from '../sdk/matrix/providers.ts'

interface Outcome {
  readonly client: string
  readonly model: string
  readonly case: string
  readonly outcome: 'ok' | 'failed'
  readonly detail: string
}

const models = ['openai', 'anthropic', 'gemini', 'bedrock']
const embeddings = 'local/simulated-embedding'

const python = await pythonEnvironment(join(import.meta.dir, 'requirements.txt'))
if (!python) {
  console.log('skipped: there is no python3 on this machine')
  process.exit(0)
}
const simulator = await startSimulator({ seed: 7 })
const gateway = await startGatewayProcess(matrixConfig().replaceAll('{simulator}', simulator.url), {
  // For models and credentials made by API.
  MODELGATE_ENCRYPTION_KEY: 'a key for tests of more than 32 characters',
})
let outcomes: Outcome[] = []
try {
  const where = { GATEWAY_URL: gateway.url, GATEWAY_KEY: await gateway.key() }
  outcomes = [
    ...(await runSuite(python, 'suite.py', where)),
    ...(await runSuite(python, 'litellm_proxy.py', { ...where, GATEWAY_KEY: gateway.masterKey, MODEL: models[0]! })),
  ]
} finally {
  await gateway.stop()
  await simulator.stop()
}
showTable(outcomes)
const failed = outcomes.filter(one => one.outcome === 'failed')
for (const one of failed) console.log(`${one.client} ${one.model} ${one.case}: ${one.detail}`)
console.log(`${outcomes.length - failed.length} of ${outcomes.length} cases passed`)
process.exit(outcomes.length === 0 || failed.length > 0 ? 1 : 0)

async function runSuite(interpreter: string, file: string, where: Record<string, string>): Promise<Outcome[]> {
  const child = Bun.spawn([interpreter, join(import.meta.dir, file)], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    env: {
      ...process.env,
      ...where,
      MODELS: models.join(','),
      // Anthropic's tool runner has to work on every provider.
      RUNNER_MODELS: providerRows.map(row => row.name).join(','),
      EMBEDDINGS: embeddings,
    },
  })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${file} ended with ${child.exitCode}`)
  return text
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Outcome)
}

/** One line for each client and model, one column for each case. */
function showTable(list: readonly Outcome[]): void {
  const cases = [...new Set(list.map(one => one.case))]
  const rows = new Map<string, Record<string, string>>()
  for (const one of list) {
    const name = `${one.client} ${one.model}`
    rows.set(name, { ...rows.get(name), [one.case]: one.outcome })
  }
  console.log(['client and model'.padEnd(30), ...cases.map(one => one.padEnd(11))].join(''))
  for (const [name, row] of rows)
    console.log([name.padEnd(30), ...cases.map(one => (row[one] ?? '-').padEnd(11))].join(''))
}
