/** Conversations of the demo's administrator: asked through the public API, answered by the simulator. */
import type { AskGateway } from './fill.ts'

/** A question and what the simulator answers to it. */
interface DemoTurn {
  readonly question: string
  readonly answer: string
  readonly thinking?: string
  /** Two answer side by side. */
  readonly models: readonly string[]
}

interface DemoChat {
  readonly daysAgo: number
  readonly turns: readonly DemoTurn[]
}

const chats: readonly DemoChat[] = [
  {
    daysAgo: 12,
    turns: [
      {
        question: 'Draft a short out-of-office note for the first week of December.',
        answer: `Thank you for your message. I am away from **1 to 5 December** and read mail again on 8 December.

In urgent cases the team helps: support@nordwind.example.`,
        models: ['claude-haiku-4-5'],
      },
    ],
  },
  {
    daysAgo: 5,
    turns: [
      {
        question: 'Which of our models is the best value for summaries of long tickets?',
        answer: `For summaries the small models are enough:

| Model | Input, 1M tokens | Why |
|---|---|---|
| gemini-2.5-flash | $0.30 | longest context |
| gpt-5-mini | $0.25 | follows a format well |
| claude-haiku-4-5 | $1.00 | best wording |

Take **gpt-5-mini** and look at twenty summaries by hand before you decide.`,
        models: ['gpt-5-mini', 'claude-haiku-4-5'],
      },
    ],
  },
  {
    daysAgo: 1,
    turns: [
      {
        question: 'Explain exponential backoff to a new colleague, in three sentences.',
        answer: `A client that was refused waits before it tries again, and doubles the wait each time. A random part
keeps all clients from coming back in the same moment. After a few tries it gives up and says so.`,
        models: ['gpt-5-mini'],
      },
    ],
  },
  {
    daysAgo: 0,
    turns: [
      {
        question: 'How do I call our gateway from Python and keep the answer as it comes?',
        thinking: 'They have a key already. The openai package with base_url is the shortest way; show streaming.',
        answer: `Use the \`openai\` package with the gateway as its base:

\`\`\`python
from openai import OpenAI

client = OpenAI(base_url='https://models.nordwind.example/v1', api_key=KEY)
stream = client.chat.completions.create(
    model='claude-sonnet-4-5',
    messages=[{'role': 'user', 'content': 'Hello'}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or '', end='')
\`\`\`

1. Make a key on the page **Keys**.
2. Put it into the environment, not into the code.
3. Watch the first call on the page **Logs**.`,
        models: ['claude-sonnet-4-5'],
      },
      {
        question: 'And what happens when I reach my limit?',
        answer: `The call is refused with **429**, and \`retry-after\` says how many seconds to wait. The package waits
and tries twice by itself.

> Limits and budgets of a key are on its page, scope by scope.`,
        models: ['claude-sonnet-4-5'],
      },
    ],
  },
]

const dayMs = 86_400_000
const pollMs = 20
const pollsMax = 500

/** What the simulator has to answer to these questions. */
export const demoAnswers = chats.flatMap(({ turns }) => turns)

/** `travel` sets the clock back. Rejects where an answer fails. */
export async function makeChats(ask: AskGateway, travel: (ms: number) => void): Promise<void> {
  for (const { daysAgo, turns } of chats) {
    travel(daysAgo * dayMs)
    const { id } = await ask('/chat/conversations', {})
    const path = `/chat/conversations/${String(id)}`
    let parent_id: string | null = null
    for (const { question, models } of turns) {
      const made = await ask(`${path}/messages`, { text: question, models, parent_id })
      parent_id = (made.answers as { id: string }[])[0]!.id
      await ended(ask, path)
    }
  }
}

async function ended(ask: AskGateway, path: string): Promise<void> {
  for (let poll = 0; poll < pollsMax; poll++) {
    const { messages } = (await ask(path)) as { messages: readonly { status: string }[] }
    const failed = messages.find(one => one.status === 'failed')
    if (failed) throw new Error(`an answer of the demo failed: ${JSON.stringify(failed)}`)
    if (messages.every(one => one.status === 'completed')) return
    await Bun.sleep(pollMs)
  }
  throw new Error('an answer of the demo has no end')
}
