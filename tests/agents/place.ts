/** Where real coding agents run in tests: an empty home, nothing but loopback; and what they and the simulator said. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { signedInBrowser } from '../support/sign-in/browser-session.ts'
import type { Browser } from '../support/sign-in/browser-session.ts'
import { scimClient } from '../e2e/scim-client.ts'
import type { Gateway } from '../e2e/harness.ts'

const bin = join(process.env.MODELGATE_AGENTS_DIR ?? join(tmpdir(), 'modelgate-agents'), 'node_modules/.bin')
/** An agent that has not ended after it is stopped. */
export const turnMs = 90_000

/** A home with a working directory in it. */
export class Place {
  readonly home = mkdtempSync(join(tmpdir(), 'modelgate-signed-in-'))
  readonly work = join(this.home, 'work')
  readonly environment: Readonly<Record<string, string>> = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: this.home,
    CI: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    XDG_CONFIG_HOME: join(this.home, '.config'),
  }

  constructor() {
    mkdirSync(this.work)
  }

  start(words: readonly string[]) {
    const child = Bun.spawn([...words], {
      cwd: this.work,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      env: { ...this.environment, TERM: 'dumb' },
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

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Makes the user `ada`, and a browser in which she has signed in. */
export async function browserOfAda(gateway: Gateway): Promise<Browser> {
  await gateway.admin('/user/new', { user_id: 'ada', user_email: 'ada@example.com' })
  return signedInBrowser(gateway.url, `sqlite:${gateway.dataDirectory}/modelgate.sqlite`, 'ada')
}

/** What a directory does when a person leaves; resolves with the moment (`performance.now()`) when it was done. */
export async function leaveDirectory(gateway: Gateway, email: string): Promise<number> {
  const scim = await scimClient(gateway)
  const [id] = await scim.find('/Users', `userName eq "${email}"`)
  const answer = await scim.ask('DELETE', `/Users/${String(id)}`)
  if (answer.status !== 204) throw new Error(`DELETE of the user: ${answer.status}`)
  return performance.now()
}

/** A body has this text somewhere. */
export const says = (body: unknown, text: string): boolean => JSON.stringify(body ?? '').includes(text)

/** Tools of the newest request that offers any, by the names the upstream saw. */
export function offeredTools({ simulator }: Gateway): string[] {
  for (const { body } of [...simulator.truth.entries].reverse()) {
    const tools = (body as { tools?: { name?: string; function?: { name: string } }[] } | undefined)?.tools
    if (tools?.length) return tools.map(tool => tool.function?.name ?? tool.name ?? '')
  }
  return []
}
