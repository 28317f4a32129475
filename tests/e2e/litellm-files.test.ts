/**
 * Files as LiteLLM's users have them: what has no function here is a warning that says so, and a mistake where it
 * restricts; without such keys they start.
 */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '../../src/config/read-settings.ts'
import { providers } from '../../src/providers/index.ts'

const folder = join(import.meta.dir, '../data/litellm')
const text = (file: string): string => readFileSync(join(folder, file), 'utf8')

const account = JSON.stringify({
  type: 'service_account',
  project_id: 'example-project',
  client_email: 'gateway@example-project.iam.gserviceaccount.com',
  private_key: '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n',
  token_uri: 'https://oauth2.googleapis.com/token',
})
const keyNames = ['OPENAI_API_KEY', 'OPENAI_API_KEY_2', 'AZURE_API_KEY_EU', 'AZURE_API_KEY_US', 'ANTHROPIC_API_KEY']
const moreKeyNames = ['GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'TEAM_B_KEY', 'COHERE_API_KEY', 'AWS_ACCESS_KEY_ID']
const environment = {
  ...Object.fromEntries([...keyNames, ...moreKeyNames].map(name => [name, `sk-${name.toLowerCase()}`])),
  AWS_SECRET_ACCESS_KEY: 'secret',
  AZURE_API_BASE_US: 'https://us.example.openai.azure.com',
  VERTEX_CREDENTIALS: account,
  LITELLM_MASTER_KEY: 'sk-0Zq8vWm3Yx5Rk7Lp2Td9Nc4Hb6Jf1GsAe',
  REDIS_HOST: 'redis.internal',
  REDIS_PASSWORD: 'of-redis',
  DATABASE_URL: 'postgresql://llm:pw@db.internal:5432/litellm',
}
const read = (file: string, content = text(file)) => readSettings({ text: content, file, environment, providers })

/** By file, the keys that restrict and are not enforced here. */
const restricting: Readonly<Record<string, readonly string[]>> = {
  'wildcards.yaml': ['general_settings.custom_auth'],
  'own-servers.yaml': ['litellm_settings.callbacks', 'general_settings.ui_access_mode'],
}

/** The text with the lines of mistakes as comments. */
function mended(file: string, mistakes: readonly string[]): string {
  const lines = text(file).split('\n')
  for (const mistake of mistakes) {
    const at = Number(mistake.split(':')[1]) - 1
    lines[at] = `# ${lines[at]}`
  }
  return lines.join('\n')
}

/** By file: name, provider and model at the upstream of each entry. */
const expected: Record<string, string[]> = {
  'quick-start.yaml': [
    'gpt-3.5-turbo openai gpt-3.5-turbo',
    'gpt-3.5-turbo openai gpt-3.5-turbo',
    'gpt-4 openai gpt-4',
    'claude anthropic claude-3-haiku-20240307',
    'instruct text_completion_openai gpt-3.5-turbo-instruct',
    'text-embedding-ada-002 openai text-embedding-ada-002',
  ],
  'azure-and-openai.yaml': [
    'gpt-4o azure gpt-4o-eu',
    'gpt-4o azure gpt-4o-us',
    'gpt-4o-openai openai gpt-4o',
    'dall-e-3 openai dall-e-3',
    'whisper openai whisper-1',
  ],
  'wildcards.yaml': ['openai/* openai *', 'anthropic/* anthropic *', 'gemini/* gemini *', '* openrouter *'],
  'own-servers.yaml': [
    'llama3 ollama llama3.1',
    'vllm-models openai facebook/opt-125m',
    'mixtral hosted_vllm mistralai/Mixtral-8x7B-Instruct-v0.1',
    'team-b litellm_proxy claude',
    'bge openai BAAI/bge-m3',
  ],
  'clouds.yaml': [
    'claude-sonnet bedrock anthropic.claude-3-5-sonnet-20241022-v2:0',
    'claude-sonnet bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-sonnet vertex_ai claude-sonnet-4-5@20250929',
    'claude-sonnet anthropic claude-sonnet-4-5',
    'gemini-pro vertex_ai gemini-2.5-pro',
    'command cohere command-r-plus',
  ],
}

describe('files of LiteLLM start with warnings alone, without keys that restrict', () => {
  test('each one in the folder is expected', () => {
    const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
    expect(files.sort()).toEqual(Object.keys(expected).sort())
  })
  for (const [file, entries] of Object.entries(expected))
    test(file, () => {
      const { mistakes: restricted } = read(file)
      expect(restricted.map(one => one.split(' ')[1])).toEqual((restricting[file] ?? []).map(key => `${key}:`))
      expect(restricted.every(one => one.includes('does not enforce it'))).toBe(true)
      const { mistakes, settings, warnings } = read(file, mended(file, restricted))
      expect(mistakes).toEqual([])
      const listed = settings!.deployments.filter(one => one.origin.kind === 'config')
      expect(listed.map(one => `${one.modelName} ${one.target.provider.name} ${one.target.model}`)).toEqual(entries)
      expect(new Set(listed.map(one => one.id)).size).toBe(listed.length)
      // Each warning stands at its place and names the key as it is written there.
      const lines = text(file).split('\n')
      for (const warning of warnings.filter(one => !one.startsWith('no price is known'))) {
        const [, line, path] = /^[a-z-]+\.yaml:(\d+):\d+ ([^ ]+): ./.exec(warning)!
        expect(lines[Number(line) - 1]).toContain(
          path!
            .split('.')
            .filter(part => !/^\d+$/.test(part))
            .at(-1)!,
        )
        expect(warning).not.toMatch(/ (settings|model_list\.\d+\.proxy_params)\./)
      }
    })
})
