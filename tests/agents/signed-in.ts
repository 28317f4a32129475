/**
 * Real coding agents that a person has signed in: `modelgate login`, `modelgate setup`, then the agent, headless, on a
 * simulated upstream of a vendor whose dialect it does not speak. Then the directory removes the user (SCIM) in the
 * middle of a session, while a tool of the agent runs. Agents as `npm run agents` installs them (MODELGATE_AGENTS_DIR).
 *
 *   node bin/bun.mjs tests/agents/signed-in.ts [claude-code] [codex] [opencode] [gemini-cli]
 */
import { join } from 'node:path'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { browserOfAda, leaveDirectory, offeredTools, Place, says, turnMs } from './place.ts'
import { until } from '../support/until.ts'

interface Agent {
  readonly name: string
  readonly model: string
  /** `told` = what its setup has said. */
  words(prompt: string, reported: string): string[]
  /** How it runs a command of the shell: a tool among those that it offers. */
  shell(tools: readonly string[], command: string): { name: string; arguments: object } | undefined
}

const agents: readonly Agent[] = [
  {
    name: 'claude-code',
    model: 'chat-model',
    words: prompt => ['claude', '-p', prompt, '--allowedTools', 'Bash'],
    shell: (tools, command) => (tools.includes('Bash') ? { name: 'Bash', arguments: { command } } : undefined),
  },
  {
    name: 'codex',
    model: 'claude-model',
    words: prompt => ['codex', 'exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', prompt],
    shell(tools, command) {
      const name = ['exec_command', 'shell_command'].find(one => tools.includes(one))
      if (name === undefined) return undefined
      return { name, arguments: name === 'exec_command' ? { cmd: command } : { command } }
    },
  },
  {
    name: 'opencode',
    model: 'claude-model',
    words: prompt => ['opencode', 'run', '--model', 'modelgate/claude-model', prompt],
    shell: (tools, command) =>
      tools.includes('bash') ? { name: 'bash', arguments: { command, description: 'waits' } } : undefined,
  },
  {
    name: 'gemini-cli',
    model: 'chat-model',
    words: (prompt, reported) => {
      const command = /start it by: (.*)/.exec(reported)![1]!
      return ['sh', '-c', `${command} --skip-trust --approval-mode yolo -p '${prompt}'`]
    },
    shell: (tools, command) =>
      tools.includes('run_shell_command') ? { name: 'run_shell_command', arguments: { command } } : undefined,
  },
]

const program = [process.execPath, join(import.meta.dir, '../../src/main.ts')]

async function login(gateway: Gateway, place: Place): Promise<void> {
  const browser = await browserOfAda(gateway)
  const child = place.start([...program, 'login', gateway.url, '--no-browser'])
  let text = ''
  for await (const piece of child.stderr) {
    text += Buffer.from(piece).toString()
    const code = /approve the code (\S+)/.exec(text)?.[1]
    if (!code) continue
    await browser.post('/device', { user_code: code, decision: 'approve' })
    break
  }
  if ((await child.exited) !== 0) throw new Error(`modelgate login failed: ${text}`)
}

async function check(agent: Agent): Promise<string[]> {
  const gateway = await startGateway()
  const place = new Place()
  const { simulator } = gateway
  try {
    await login(gateway, place)
    const command = ['--command', program.join(' '), '--model', agent.model]
    const written = await place.run([...program, 'setup', agent.name, ...command])
    if (!written.startsWith('exit 0')) return [`setup: ${written}`]
    simulator.script(({ body }) => says(body, 'PLEASE-ANSWER'), { text: 'TEXT-TURN-DONE' })
    const answered = await place.run(agent.words('PLEASE-ANSWER with two words', written))
    if (!answered.includes('TEXT-TURN-DONE')) return [`text turn: ${answered.slice(-1500)}`]
    const tool = agent.shell(offeredTools(gateway), 'sleep 5; echo AFTER-THE-TOOL')
    if (!tool) return [`offers no shell: ${offeredTools(gateway).join(', ')}`]
    let sentAfter = false
    simulator.script(
      ({ body }) => {
        if (says(body, 'AFTER-THE-TOOL') && says(body, 'tool_result')) sentAfter = true
        return false
      },
      { text: '' },
    )
    simulator.script(({ body }) => says(body, 'PLEASE-WAIT') && says(body, tool.name), { toolCalls: [tool], times: 1 })
    const calls = simulator.truth.entries.length
    const running = place.run(agent.words('PLEASE-WAIT with the shell', written))
    await until(() => simulator.truth.entries.length > calls, 'the agent has its tool call', turnMs)
    await leaveDirectory(gateway, 'ada@example.com')
    const ended = await running
    const rows = await gateway.rows('&user_id=ada')
    console.log(`ok   ${agent.name}: signed in, ${rows.length} calls of ada; after the removal: ${refusalIn(ended)}`)
    return sentAfter ? [`a call was served after its user was removed: ${ended.slice(-800)}`] : []
  } finally {
    await gateway.stop()
    place.remove()
  }
}

/** What the agent shows of the refusal. */
const refusalIn = (text: string): string =>
  text
    .split('\n')
    .find(line => /401|authenticat|unauthorized|sign-in that has ended/i.test(line))
    ?.slice(0, 200) ?? 'no further call was served'

const asked = process.argv.slice(2)
let failures = 0
for (const agent of agents.filter(one => asked.length === 0 || asked.includes(one.name)))
  for (const problem of await check(agent)) {
    console.log(`FAIL ${agent.name}: ${problem}`)
    failures++
  }
process.exit(failures > 0 ? 1 : 0)
