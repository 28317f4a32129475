/**
 * TypeScript's types as JSON Schema 2020-12: the request types of vendors' own packages become a referee of what is
 * sent to them. Objects are closed, so that a field which the vendor does not know is a deviation.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** A JSON Schema. */
export type Schema = Record<string, unknown>

/** Exported types of one source text, by name, and the definitions that they share. */
export interface TypeShapes {
  readonly types: Readonly<Record<string, Schema>>
  readonly $defs: Readonly<Record<string, Schema>>
}

const root = join(import.meta.dir, '..', '..')
const cacheFolder = join(root, 'node_modules', '.cache', 'vendor-shapes')

/**
 * The shapes of every type that `source` exports, which imports what it needs of the installed `packages`. Kept on disk
 * until the text or a version changes, for the compiler takes seconds.
 */
export function typeShapes(source: string, packages: readonly string[]): TypeShapes {
  let shapes = extracted.get(source)
  if (!shapes) extracted.set(source, (shapes = cachedShapes(source, packages)))
  return shapes
}

const extracted = new Map<string, TypeShapes>()

function cachedShapes(source: string, packages: readonly string[]): TypeShapes {
  const packagesFolder = join(root, 'tests/node_modules')
  const versions = packages.map(name => readFileSync(join(packagesFolder, name, 'package.json'), 'utf8'))
  const own = readFileSync(import.meta.path, 'utf8')
  const key = createHash('sha256')
    .update([ts.version, own, source, ...versions].join('\0'))
    .digest('hex')
    .slice(0, 24)
  const file = join(cacheFolder, `${key}.json`)
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as TypeShapes
  const shapes = extract(source)
  mkdirSync(cacheFolder, { recursive: true })
  writeFileSync(file, JSON.stringify(shapes))
  return shapes
}

/** Files of packages and of the language, which each program of a process needs again. */
const parsed = new Map<string, ts.SourceFile | undefined>()

function extract(source: string): TypeShapes {
  const name = join(root, 'tests', 'vendors', 'extracted-types.ts')
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (file, target) => {
    if (file === name) return ts.createSourceFile(file, source, target, true)
    const text = parsed.get(file) ?? read(file, target)
    parsed.set(file, text)
    return text
  }
  const program = ts.createProgram([name], options, host)
  const text = program.getSourceFile(name)!
  const [problem] = program.getSemanticDiagnostics(text)
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  const extractor = new Extractor(program.getTypeChecker())
  const types: Record<string, Schema> = {}
  for (const statement of text.statements)
    if (ts.isTypeAliasDeclaration(statement)) types[statement.name.text] = extractor.named(statement.name)
  return { types, $defs: extractor.definitions }
}

/** Nothing of these is JSON: a request that holds one is not sent as such. */
const foreignNames: ReadonlySet<string> = new Set([
  'Date',
  'Blob',
  'File',
  'ArrayBuffer',
  'Uint8Array',
  'ReadableStream',
])

class Extractor {
  readonly definitions: Record<string, Schema> = {}
  readonly #checker: ts.TypeChecker
  readonly #names = new Map<ts.Type, string>()

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  named(node: ts.Node): Schema {
    return this.#schema(this.#checker.getTypeAtLocation(node))
  }

  #schema(type: ts.Type): Schema {
    const { flags } = type
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {}
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value }
    if (flags & ts.TypeFlags.EnumLiteral && !type.isUnion())
      return { const: (type as ts.LiteralType & { value: unknown }).value }
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: this.#checker.typeToString(type) === 'true' }
    if (flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) return { type: 'string' }
    if (flags & ts.TypeFlags.Number) return { type: 'number' }
    if (flags & ts.TypeFlags.Boolean) return { type: 'boolean' }
    if (flags & ts.TypeFlags.Null) return { type: 'null' }
    if (flags & (ts.TypeFlags.Never | ts.TypeFlags.Undefined | ts.TypeFlags.Void)) return { not: {} }
    if (type.isUnion()) return this.#union(type)
    // `string & {}`, which keeps literals beside it in editors.
    if (type.isIntersection() && type.types.some(one => one.flags & ts.TypeFlags.String)) return { type: 'string' }
    return this.#object(type)
  }

  #union(type: ts.UnionType): Schema {
    const members = type.types.filter(one => !(one.flags & ts.TypeFlags.Undefined)).map(one => this.#schema(one))
    const values = members.filter(one => 'const' in one).map(one => one.const)
    const others = members.filter(one => !('const' in one))
    const all = values.length > 0 ? [...others, { enum: values }] : others
    return all.length === 1 ? all[0]! : { anyOf: all }
  }

  #object(type: ts.Type): Schema {
    const known = this.#names.get(type)
    if (known !== undefined) return { $ref: `#/$defs/${known}` }
    if (this.#checker.isTupleType(type) || this.#checker.isArrayType(type)) {
      const items = this.#checker.getTypeArguments(type as ts.TypeReference).map(one => this.#schema(one))
      return { type: 'array', items: items.length === 1 ? items[0] : { anyOf: items } }
    }
    const symbol = type.aliasSymbol ?? type.symbol
    if (foreignNames.has(symbol?.name ?? '') || type.getCallSignatures().length > 0) return {}
    const name = `${symbol?.name.replace(/\W/g, '') ?? 'object'}_${this.#names.size}`
    this.#names.set(type, name)
    this.definitions[name] = this.#fields(type)
    return { $ref: `#/$defs/${name}` }
  }

  #fields(type: ts.Type): Schema {
    const properties: Record<string, Schema> = {}
    const required: string[] = []
    for (const property of this.#checker.getPropertiesOfType(type)) {
      const own = this.#checker.getTypeOfSymbol(property)
      properties[property.name] = this.#schema(own)
      const isOptional = property.flags & ts.SymbolFlags.Optional || own.flags & ts.TypeFlags.Never
      if (!isOptional) required.push(property.name)
    }
    const rest = this.#checker.getIndexInfoOfType(type, ts.IndexKind.String)
    const isOpen = Object.keys(properties).length === 0 && !rest
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      // `object` and `{}` say nothing of what is inside.
      ...(!isOpen && { additionalProperties: rest ? this.#schema(rest.type) : false }),
    }
  }
}
