/**
 * Real coding agents that a person has signed in: `modelgate login`, `modelgate setup`, then the agent, headless, on a
 * simulated upstream of a vendor whose dialect it does not speak. Then the user is blocked in the middle of a session,
 * while a tool of the agent runs. Agents as `npm run agents` installs them (MODELGATE_AGENTS_DIR).
 *
 *   node bin/bun.mjs tests/agents/signed-in.ts [claude-code] [codex] [opencode]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { signedInBrowser } from '../browser-session.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../redis-replicas.ts'

interface Agent {
  readonly name: string
  readonly model: string
  words(prompt: string): string[]
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
]

const bin = join(process.env.MODELGATE_AGENTS_DIR ?? join(tmpdir(), 'modelgate-agents'), 'node_modules/.bin')
const program = [process.execPath, join(import.meta.dir, '../../src/main.ts')]
const turnMs = 90_000

class Place {
  readonly home = mkdtempSync(join(tmpdir(), 'modelgate-signed-in-'))
  readonly work = join(this.home, 'work')

  constructor() {
    mkdirSync(this.work)
  }

  start(words: readonly string[]) {
    const child = Bun.spawn([...words], {
      cwd: this.work,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      env: {
        PATH: [bin, process.env.PATH].join(delimiter),
        HOME: this.home,
        TERM: 'dumb',
        CI: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        XDG_CONFIG_HOME: join(this.home, '.config'),
      },
    })
    const timer = setTimeout(() => child.kill(), turnMs)
    void child.exited.then(() => clearTimeout(timer))
    return child
  }

  async run(words: readonly string[]): Promise<string> {
    const child = this.start(words)
    const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return `exit ${await child.exited}\n${out}\n${errors}`
  }
}

async function login(gateway: Gateway, place: Place): Promise<void> {
  await gateway.admin('/user/new', { user_id: 'ada', user_email: 'ada@example.com' })
  const browser = await signedInBrowser(gateway.url, `sqlite:${gateway.dataDirectory}/modelgate.sqlite`, 'ada')
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

const says = (body: unknown, text: string) => JSON.stringify(body ?? '').includes(text)

function offeredTools({ simulator }: Gateway): string[] {
  for (const { body } of [...simulator.truth.entries].reverse()) {
    const tools = (body as { tools?: { name?: string; function?: { name: string } }[] } | undefined)?.tools
    if (tools?.length) return tools.map(tool => tool.function?.name ?? tool.name ?? '')
  }
  return []
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
    const answered = await place.run(agent.words('PLEASE-ANSWER with two words'))
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
    const running = place.run(agent.words('PLEASE-WAIT with the shell'))
    await until('the agent has its tool call', () => simulator.truth.entries.length > calls, turnMs)
    await gateway.admin('/user/update', { user_id: 'ada', blocked: true })
    const ended = await running
    const rows = await gateway.rows('&user_id=ada')
    console.log(`ok   ${agent.name}: signed in, ${rows.length} calls of ada; after blocking: ${refusalIn(ended)}`)
    return sentAfter ? [`a call was served after its user was blocked: ${ended.slice(-800)}`] : []
  } finally {
    await gateway.stop()
    rmSync(place.home, { recursive: true, force: true })
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
