/**
 * `npm run agents`: real coding agents, headless, through a real gateway, each on a simulated upstream of a vendor
 * whose dialect it does not speak. One turn of text and one with a tool that really reads a file. Not part of
 * `npm test`: the agents are a gigabyte. They are installed into a folder of their own, versions pinned below;
 * dummy keys, an empty home, nothing but loopback.
 *
 *   npm run agents [-- NAME ...]     MODELGATE_AGENTS_DIR = where they are installed (default: a temporary folder)
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

const versions = {
  '@anthropic-ai/claude-code': '2.1.330',
  '@google/gemini-cli': '0.61.0',
  '@openai/codex': '0.169.0',
  'opencode-ai': '1.18.33',
}

interface Turn {
  readonly base: string
  readonly key: string
  readonly home: string
  readonly work: string
  readonly prompt: string
}

interface Agent {
  readonly name: string
  /** A public model whose upstream speaks another dialect than the agent. */
  readonly model: string
  /** Writes its settings and says how it is run. */
  command(turn: Turn): { args: string[]; env: Record<string, string> }
  /** How it reads a file: the tool among those it offers, and the tool's arguments. */
  read(tools: readonly string[], file: string): { name: string; arguments: object } | undefined
}

const pick = (tools: readonly string[], ...names: string[]) => names.find(name => tools.includes(name))

const agents: Agent[] = [
  {
    name: 'claude',
    model: 'chat-model',
    command: ({ base, key, prompt }) => ({
      args: ['claude', '-p', prompt, '--allowedTools', 'Read'],
      env: {
        ANTHROPIC_BASE_URL: base,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: 'chat-model',
        ANTHROPIC_SMALL_FAST_MODEL: 'chat-model',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'chat-model',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
    read: (tools, file) => (tools.includes('Read') ? { name: 'Read', arguments: { file_path: file } } : undefined),
  },
  {
    name: 'codex',
    model: 'claude-model',
    command({ base, home, prompt }) {
      mkdirSync(join(home, '.codex'), { recursive: true })
      writeFileSync(
        join(home, '.codex/config.toml'),
        `model = "claude-model"\nmodel_provider = "gw"\n[model_providers.gw]\nname = "gw"\nbase_url = "${base}/v1"\nenv_key = "GW_KEY"\nwire_api = "responses"\n`,
      )
      return { args: ['codex', 'exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access', prompt], env: {} }
    },
    read(tools, file) {
      const name = pick(tools, 'exec_command', 'shell_command', 'shell', 'local_shell')
      if (!name) return undefined
      const command = `cat ${file}`
      if (name === 'exec_command') return { name, arguments: { cmd: command } }
      return { name, arguments: { command: name === 'shell_command' ? command : ['bash', '-lc', command] } }
    },
  },
  {
    name: 'opencode',
    model: 'claude-model',
    command({ base, key, work, prompt }) {
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${base}/v1`, apiKey: key },
        models: { 'claude-model': { name: 'm' } },
      }
      writeFileSync(
        join(work, 'opencode.json'),
        JSON.stringify({
          $schema: 'https://opencode.ai/config.json',
          provider: { gw: provider },
          autoupdate: false,
          share: 'disabled',
        }),
      )
      return {
        args: ['opencode', 'run', '--model', 'gw/claude-model', prompt],
        env: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' },
      }
    },
    read: (tools, file) => (tools.includes('read') ? { name: 'read', arguments: { filePath: file } } : undefined),
  },
  {
    name: 'gemini',
    model: 'chat-model',
    command({ base, key, home, prompt }) {
      mkdirSync(join(home, '.gemini'), { recursive: true })
      writeFileSync(
        join(home, '.gemini/settings.json'),
        JSON.stringify({
          security: { auth: { selectedType: 'gemini-api-key' } },
          privacy: { usageStatisticsEnabled: false },
        }),
      )
      return {
        args: ['gemini', '-m', 'chat-model', '-p', prompt, '--skip-trust'],
        env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: base },
      }
    },
    read(tools, file) {
      return tools.includes('read_file') ? { name: 'read_file', arguments: { file_path: file } } : undefined
    },
  },
]

const turnMs = 90_000

interface Manifest {
  readonly scripts?: { readonly postinstall?: string }
}

function runOrThrow(command: string[], cwd: string): void {
  const { exitCode } = Bun.spawnSync(command, { cwd, stdout: 'inherit', stderr: 'inherit' })
  if (exitCode !== 0) throw new Error(`the agents cannot be installed: ${command.join(' ')} ended with ${exitCode}`)
}

function install(): string {
  const folder = process.env.MODELGATE_AGENTS_DIR ?? join(tmpdir(), 'modelgate-agents')
  const wanted = { name: 'agents', private: true, dependencies: versions }
  mkdirSync(folder, { recursive: true })
  if (!Object.keys(versions).every(name => existsSync(join(folder, 'node_modules', name)))) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(wanted))
    runOrThrow(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder)
    // Scripts of these packages alone, which put the binary of this platform into its place; npm may block them all.
    for (const name of Object.keys(versions)) {
      const place = join(folder, 'node_modules', name)
      const { scripts } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
      if (scripts?.postinstall) runOrThrow(['sh', '-c', scripts.postinstall], place)
    }
  }
  return join(folder, 'node_modules/.bin')
}

/** Tools of the newest request that offers any, by the names the upstream saw. */
function offeredTools(gateway: Gateway): string[] {
  for (const { body } of [...gateway.simulator.truth.entries].reverse()) {
    const tools = (body as { tools?: { name?: string; function?: { name: string } }[] } | undefined)?.tools
    if (tools?.length) return tools.map(tool => tool.function?.name ?? tool.name ?? '')
  }
  return []
}

const says = (body: unknown, text: string) => JSON.stringify(body ?? '').includes(text)

async function run(agent: Agent, bin: string, turn: Turn): Promise<{ output: string; code: number | null }> {
  const { args, env } = agent.command(turn)
  const child = Bun.spawn([join(bin, args[0]!), ...args.slice(1)], {
    cwd: turn.work,
    env: {
      PATH: process.env.PATH!,
      HOME: turn.home,
      TERM: 'dumb',
      CI: '1',
      GW_KEY: turn.key,
      XDG_CONFIG_HOME: join(turn.home, '.config'),
      ...env,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const timer = setTimeout(() => child.kill(), turnMs)
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  clearTimeout(timer)
  await child.exited
  return { output: `${output}\n${errors}`, code: child.exitCode }
}

async function check(agent: Agent, bin: string): Promise<string[]> {
  const gateway = await startGateway()
  const home = mkdtempSync(join(tmpdir(), 'modelgate-agent-'))
  const work = join(home, 'work')
  mkdirSync(work)
  const canary = `canary-${crypto.randomUUID()}`
  const file = join(work, 'secret.txt')
  writeFileSync(file, `${canary}\n`)
  const problems: string[] = []
  try {
    const key = await gateway.key({})
    const { simulator } = gateway
    const turn = { base: gateway.url, key, home, work }
    simulator.script(({ body }) => says(body, 'PLEASE-ANSWER'), { text: 'TEXT-TURN-DONE' })
    const text = await run(agent, bin, { ...turn, prompt: 'PLEASE-ANSWER with two words' })
    if (!text.output.includes('TEXT-TURN-DONE'))
      problems.push(`text turn (exit ${text.code}): ${text.output.slice(-1500)}`)
    const call = agent.read(offeredTools(gateway), file)
    if (!call) return [...problems, `offers no tool to read files: ${offeredTools(gateway).join(', ')}`]
    simulator.script(({ body }) => says(body, canary), { text: 'TOOL-TURN-DONE' })
    simulator.script(({ body }) => says(body, 'PLEASE-READ') && !says(body, canary) && offered(body), {
      toolCalls: [call],
      times: 1,
    })
    const tool = await run(agent, bin, { ...turn, prompt: 'PLEASE-READ the file secret.txt' })
    if (!tool.output.includes('TOOL-TURN-DONE'))
      problems.push(`tool turn (exit ${tool.code}): ${tool.output.slice(-1500)}`)
    const rows = await gateway.rows()
    const failed = rows.filter(row => row.status !== 200)
    if (failed.length > 0)
      problems.push(
        `calls that failed: ${failed.map(row => `${row.route} ${row.status} ${row.error_kind}`).join('; ')}`,
      )
    if (problems.length === 0)
      console.log(
        `ok   ${agent.name}: text and tool turn, ${rows.length} calls, upstream ${simulator.truth.entries.at(-1)!.path}`,
      )
  } finally {
    await gateway.stop()
    rmSync(home, { recursive: true, force: true })
  }
  return problems
}

const offered = (body: unknown) => ((body as { tools?: unknown[] } | undefined)?.tools?.length ?? 0) > 0

const asked = process.argv.slice(2)
const bin = install()
let failures = 0
for (const agent of agents.filter(one => asked.length === 0 || asked.includes(one.name))) {
  const problems = await check(agent, bin)
  for (const problem of problems) console.log(`FAIL ${agent.name}: ${problem}`)
  failures += problems.length > 0 ? 1 : 0
}
process.exit(failures > 0 ? 1 : 0)
