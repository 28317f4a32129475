/** Servers that others wrote, from npm, as programs behind the gateway, and the clients of both generations before it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const packages = new URL('../node_modules/@modelcontextprotocol/', import.meta.url).pathname
const program = (name: string) => join(packages, `server-${name}`, 'dist/index.js')

let gateway: Gateway
let key: string
const folder = mkdtempSync(join(tmpdir(), 'modelgate-tools-'))

beforeAll(async () => {
  writeFileSync(join(folder, 'note.txt'), 'a note')
  gateway = await startGateway({
    config: `
model_list: []
allow_stdio: true
mcp_servers:
  everything: { command: node, args: ["${program('everything')}", stdio], allow_all_keys: true }
  files: { command: node, args: ["${program('filesystem')}", "${folder}"], allow_all_keys: true }
  memory:
    command: node
    args: ["${program('memory')}"]
    env: { MEMORY_FILE_PATH: "${join(folder, 'memory.jsonl')}" }
    allow_all_keys: true
`,
  })
  key = await gateway.key({})
})

afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

const requestInit = () => ({ headers: { authorization: `Bearer ${key}` } })

const connects = {
  async '2026-07-28'(path: string) {
    const client = new NewClient({ name: 'new', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new NewTransport(new URL(gateway.url + path), { requestInit: requestInit() }))
    return client
  },
  async '2025-11-25'(path: string) {
    const client = new OldClient({ name: 'old', version: '1' })
    await client.connect(new OldTransport(new URL(gateway.url + path), { requestInit: requestInit() }) as never)
    return client as unknown as NewClient
  },
}

for (const [version, connect] of Object.entries(connects))
  describe(`a client of ${version}`, () => {
    test('calls tools of three servers', async () => {
      // The first list starts the programs.
      for (const path of ['/mcp/everything', '/mcp/files', '/mcp/memory']) {
        const one = await connect(path)
        expect((await one.listTools()).tools.length).toBeGreaterThan(5)
        await one.close()
      }
      const client = await connect('/mcp')
      const names = (await client.listTools()).tools.map(one => one.name)
      expect(new Set(names.map(name => name.split('-')[0]))).toEqual(new Set(['everything', 'files', 'memory']))
      const echo = await client.callTool({ name: 'everything-echo', arguments: { message: 'hello' } })
      expect(JSON.stringify(echo.content)).toContain('hello')
      const file = await client.callTool({
        name: 'files-read_text_file',
        arguments: { path: join(folder, 'note.txt') },
      })
      expect(JSON.stringify(file.content)).toContain('a note')
      const outside = await client.callTool({ name: 'files-read_text_file', arguments: { path: '/etc/passwd' } })
      expect(outside.isError).toBe(true)
      const entities = [{ name: `of ${version}`, entityType: 'test', observations: ['seen'] }]
      await client.callTool({ name: 'memory-create_entities', arguments: { entities } })
      const graph = await client.callTool({ name: 'memory-read_graph', arguments: {} })
      expect(JSON.stringify(graph)).toContain(`of ${version}`)
      await client.close()
    })

    test('gets prompts, resources, templates and completions', async () => {
      const client = await connect('/mcp')
      const { prompts } = await client.listPrompts()
      const plain = prompts.find(one => !one.arguments?.length)!
      expect(plain.name.startsWith('everything-')).toBe(true)
      expect((await client.getPrompt({ name: plain.name })).messages.length).toBeGreaterThan(0)
      const { resources } = await client.listResources()
      const read = await client.readResource({ uri: resources[0]!.uri })
      expect(read.contents[0]!.uri).toBe(resources[0]!.uri)
      const { resourceTemplates } = await client.listResourceTemplates()
      const template = resourceTemplates[0]!.uriTemplate
      const [made] = (await client.readResource({ uri: template.replace(/\{[^}]*\}/, '1') })).contents
      expect(made!.uri).toBe(template.replace(/\{[^}]*\}/, '1'))
      const completable = prompts.find(one => one.name.includes('complet'))
      if (!completable) throw new Error('the server has no prompt with completions')
      const [argument] = completable.arguments!
      const ref = { type: 'ref/prompt' as const, name: completable.name }
      const { completion } = await client.complete({ ref, argument: { name: argument!.name, value: '' } })
      expect(completion.values.length).toBeGreaterThan(0)
      expect(client.getPrompt({ name: 'everything-none' })).rejects.toThrow('there is no prompt')
      expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toThrow('there is no resource')
      await client.close()
    })
  })
