/** What each program needs to call models through this gateway, as text to be pasted. */
import { quoted, shell } from './quoting.ts'
import { snippetsFor } from './snippets.ts'
import type { SnippetValues } from './snippets.ts'

/** How a program speaks: what a test of the connection has to speak, too. */
export type Dialect = 'chat' | 'responses' | 'messages' | 'gemini'

/** One file or command of a setup. */
export interface SetupStep {
  /** A path, or what the text is. Names of files are not translated. */
  readonly title: string
  readonly code: string
}

/** One program. */
export interface ClientSetup {
  readonly id: string
  /** Names of programs are not translated. */
  readonly name: string
  readonly dialect: Dialect
  /** Its calls come from servers of its vendor, which cannot reach a private address. */
  readonly isRemote?: true
  readonly steps: (values: SnippetValues) => readonly SetupStep[]
}

const json = (value: unknown): string => JSON.stringify(value, undefined, 2)
const keyExport = (key: string, name = 'MODELGATE_API_KEY'): SetupStep => ({
  title: 'shell',
  code: `export ${name}=${shell(key)}`,
})
const settings = 'Settings'

/** The same text that pages of keys show. */
const ofSnippets = (title: string) => (values: SnippetValues) =>
  snippetsFor(values)
    .filter(one => one.title === title)
    .map(({ code }) => ({ title, code }))

/** Where a program asks for an address and a key in a form. */
const form = ({ gateway, key, model }: SnippetValues): SetupStep[] => [
  { title: settings, code: `Base URL  ${gateway}v1\nAPI key   ${key}\nModel     ${model}` },
]

/** Every program, agents first. */
export const clientSetups: readonly ClientSetup[] = [
  { id: 'claude-code', name: 'Claude Code', dialect: 'messages', steps: ofSnippets('Claude Code') },
  { id: 'codex', name: 'Codex', dialect: 'responses', steps: ofSnippets('Codex') },
  {
    id: 'opencode',
    name: 'opencode',
    dialect: 'chat',
    // As opencode's documentation of providers describes it; not run here.
    steps: ({ gateway, key, model }) => [
      {
        title: '~/.config/opencode/opencode.json',
        code: json({
          $schema: 'https://opencode.ai/config.json',
          provider: {
            modelgate: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Modelgate',
              options: { baseURL: `${gateway}v1`, apiKey: '{env:MODELGATE_API_KEY}' },
              models: { [model]: {} },
            },
          },
          model: `modelgate/${model}`,
        }),
      },
      keyExport(key),
    ],
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    dialect: 'gemini',
    // Without the settings file version 0.61 refuses with "Invalid auth method".
    steps: ({ gateway, key, model }) => [
      { title: '~/.gemini/settings.json', code: json({ security: { auth: { selectedType: 'gemini-api-key' } } }) },
      {
        title: 'shell',
        code: `export GOOGLE_GEMINI_BASE_URL=${shell(gateway.replace(/\/$/, ''))}
export GEMINI_API_KEY=${shell(key)}
gemini --model ${shell(model)}`,
      },
    ],
  },
  { id: 'cursor', name: 'Cursor', dialect: 'chat', isRemote: true, steps: form },
  {
    id: 'zed',
    name: 'Zed',
    dialect: 'chat',
    // As zed.dev/docs/ai/use-api-access and guides of users describe it; not run here. The key is in a variable that
    // is named after the provider.
    steps: ({ gateway, key, model }) => [
      {
        title: '~/.config/zed/settings.json',
        code: json({
          language_models: {
            openai_compatible: {
              modelgate: {
                api_url: `${gateway}v1`,
                available_models: [{ name: model, max_tokens: 128_000, capabilities: { tools: true, images: false } }],
              },
            },
          },
        }),
      },
      keyExport(key),
    ],
  },
  {
    id: 'vscode',
    name: 'VS Code',
    dialect: 'chat',
    // github.com/microsoft/vscode/issues/316916: the whole address for each model.
    steps: ({ gateway, key, model }) => [
      {
        title: 'chatLanguageModels.json',
        code: json([
          {
            vendor: 'customendpoint',
            name: 'Modelgate',
            apiKey: key,
            apiType: 'chat-completions',
            models: [
              {
                id: model,
                name: model,
                url: `${gateway}v1/chat/completions`,
                toolCalling: true,
                vision: false,
                maxInputTokens: 128_000,
                maxOutputTokens: 16_000,
              },
            ],
          },
        ]),
      },
    ],
  },
  {
    id: 'open-webui',
    name: 'Open WebUI',
    dialect: 'chat',
    steps: ({ gateway, key }) => [
      {
        title: 'shell',
        code: `export OPENAI_API_BASE_URL=${shell(`${gateway}v1`)}\nexport OPENAI_API_KEY=${shell(key)}`,
      },
    ],
  },
  {
    id: 'langchain',
    name: 'LangChain',
    dialect: 'chat',
    steps: ({ gateway, key, model }) => [
      {
        title: 'Python',
        code: `# pip install langchain-openai
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model=${quoted(model)}, base_url=${quoted(`${gateway}v1`)}, api_key=${quoted(key)})
print(model.invoke("Say hello in one sentence.").content)`,
      },
    ],
  },
  { id: 'openai-python', name: 'openai (Python)', dialect: 'chat', steps: ofSnippets('Python') },
  { id: 'openai-node', name: 'openai (Node)', dialect: 'chat', steps: ofSnippets('Node') },
  { id: 'curl', name: 'curl', dialect: 'chat', steps: ofSnippets('curl') },
]

const word = 'Say hello.'
/** Some models refuse fewer. */
const answerTokens = 16

/** The smallest call that shows whether a program of this dialect would be answered. */
export function testCall(dialect: Dialect, model: string): { readonly path: string; readonly body: object } {
  const messages = [{ role: 'user', content: word }]
  switch (dialect) {
    case 'chat':
      return { path: '/v1/chat/completions', body: { model, messages, max_tokens: answerTokens } }
    case 'messages':
      return { path: '/v1/messages', body: { model, messages, max_tokens: answerTokens } }
    case 'responses':
      return { path: '/v1/responses', body: { model, input: word, max_output_tokens: answerTokens, store: false } }
    case 'gemini':
      return {
        path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
        body: {
          contents: [{ role: 'user', parts: [{ text: word }] }],
          generationConfig: { maxOutputTokens: answerTokens },
        },
      }
  }
}
