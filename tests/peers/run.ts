/**
 * `npm run peers -- --litellm URL --key KEY`: the same scenarios at a LiteLLM proxy and at a gateway of this checkout, in
 * front of one simulator and with one configuration file, answer by answer. Prints what a client of LiteLLM's would miss
 * here and ends with status 1 when accepted.ts has no reason for it.
 *
 * The proxy is started by hand: `npm run peers -- --write-config FILE` writes its configuration. It takes
 * LITELLM_MASTER_KEY, DATABASE_URL and UPSTREAM_KEY (any text) from its environment. Where no database is to be had, take
 * `database_url` out of that file: what needs one is left out then, and calls are made with the master key.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startSimulator } from '../../simulator/index.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { accepted, reasonFor } from './accepted.ts'
import { Gateway } from './answer.ts'
import { peerConfig } from './config.ts'
import { differences } from './differences.ts'
import { administrationScenarios } from './scenarios/administration.ts'
import { callScenarios } from './scenarios/calls.ts'
import { objectScenarios } from './scenarios/objects.ts'
import { refusalScenarios } from './scenarios/refusals.ts'
import type { Scenario } from './scenarios/scenario.ts'

const usage = `npm run peers -- [flags]

  --write-config FILE   Write the configuration that LiteLLM is to be started with, and end
  --litellm URL         The proxy, started with that file
  --key KEY             Its master key
  --only TEXT           Scenarios whose names contain it
  --port N              Of the simulator (4599), as in the file
  --write               Write the accepted differences to docs/from-litellm.md
  --all                 Show accepted differences, too
  --help                Show this`

const { values } = parseArgs({
  options: {
    'write-config': { type: 'string' },
    litellm: { type: 'string' },
    key: { type: 'string' },
    only: { type: 'string', default: '' },
    port: { type: 'string', default: '4599' },
    write: { type: 'boolean' },
    all: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
const upstream = `http://127.0.0.1:${values.port}`
if (values['write-config'] !== undefined) {
  writeFileSync(values['write-config'], peerConfig(upstream, false))
  process.exit(0)
}
if (values.help || values.litellm === undefined || values.key === undefined) {
  console.log(usage)
  process.exit(values.help ? 0 : 2)
}
const page = join(import.meta.dir, '..', '..', 'docs', 'from-litellm.md')
const simulator = await startSimulator({ seed: 7, port: Number(values.port) })
const gateway = await startGatewayProcess(peerConfig(upstream, true), {
  UPSTREAM_KEY: 'any',
  LITELLM_MASTER_KEY: values.key,
})
try {
  const found = await compare(values.litellm, gateway.url, await hasDatabase(values.litellm))
  process.exitCode = found > 0 ? 1 : 0
} finally {
  await gateway.stop()
  await simulator.stop()
}

async function hasDatabase(url: string): Promise<boolean> {
  const { body } = await new Gateway('LiteLLM', url, '', false).ask({ path: '/health/readiness', key: null })
  return (body as { db?: unknown }).db === 'connected'
}

/** Returns how many differences have no reason. */
async function compare(peerUrl: string, url: string, withDatabase: boolean): Promise<number> {
  const peer = new Gateway('LiteLLM', peerUrl, values.key!, withDatabase)
  const ours = new Gateway('Modelgate', url, gateway.masterKey, withDatabase)
  const all = [
    ...[...callScenarios, ...refusalScenarios, ...objectScenarios].filter(one => withDatabase || !one.needsDatabase),
    ...(withDatabase ? administrationScenarios : []),
  ]
  const scenarios = all.filter(one => one.name.includes(values.only))
  const counts = { alike: 0, accepted: 0, open: 0 }
  const byReason = new Map<string, number>(accepted.map(({ why }) => [why, 0]))
  for (const scenario of scenarios) {
    const lines = await linesOf(scenario, peer, ours)
    const open = lines.filter(line => reasonFor(scenario.name, line) === undefined)
    const reasons = new Set(lines.map(line => reasonFor(scenario.name, line)))
    for (const why of reasons) if (why !== undefined) byReason.set(why, byReason.get(why)! + 1)
    counts[open.length > 0 ? 'open' : lines.length > 0 ? 'accepted' : 'alike']++
    for (const line of values.all ? lines : open) console.log(`${scenario.name} | ${line}`)
  }
  console.log(
    `${scenarios.length} scenarios: ${counts.alike} alike, ${counts.accepted} with accepted differences alone, ` +
      `${counts.open} with others${withDatabase ? '' : '; what needs a database is left out'}`,
  )
  if (values.write) writePage(byReason)
  return counts.open
}

/** The reasons, with the number of scenarios that have such a difference. */
function writePage(byReason: ReadonlyMap<string, number>): void {
  const [begin, end] = ['<!-- differences -->', '<!-- /differences -->']
  const text = readFileSync(page, 'utf8')
  const [before] = text.split(begin)
  const after = text.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the differences`)
  const rows = [...byReason].map(([why, count]) => `| ${why} | ${count} |`)
  const table = ['| what is otherwise here, and why | scenarios |', '|---|---:|', ...rows].join('\n')
  writeFileSync(page, `${before}${begin}\n\n${table}\n\n${end}${after}`)
}

async function linesOf(scenario: Scenario, peer: Gateway, ours: Gateway): Promise<string[]> {
  const [theirs, own] = await Promise.allSettled([scenario.run(peer), scenario.run(ours)])
  if (theirs.status === 'rejected') return own.status === 'rejected' ? [] : [`not comparable: ${String(theirs.reason)}`]
  if (own.status === 'rejected') return [`failed here: ${String(own.reason)}`]
  return differences(theirs.value, own.value)
}
