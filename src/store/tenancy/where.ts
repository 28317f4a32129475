/** The conditions of a list, with bound values: no value becomes part of a statement's text. */
import type { SQL } from 'bun'
import type { PageQuery } from '../../core/tenancy/tenancy-store.ts'
import { toNumber } from '../database/open.ts'
import type { StoredValue } from './columns.ts'

const ownBudget = "max_budget_nano_usd is not null or soft_budget_nano_usd is not null or model_max_budget <> '{}'"
/** A row with a budget of its own or a named one: the condition of the partial indexes of migration 57. */
const budgetedText = `(${ownBudget} or budget_id is not null)`

/** Conditions that all hold. Names of tables and columns are those of the program. */
export class Where {
  readonly #conditions: string[] = []
  readonly #values: StoredValue[] = []

  /** undefined = no condition, here and below. */
  equal(column: string, value: StoredValue | undefined): void {
    this.compare(column, '=', value)
  }

  compare(column: string, operator: '=' | '<' | '>=', value: StoredValue | undefined): void {
    if (value !== undefined) this.#conditions.push(`${column} ${operator} ${this.bind(value)}`)
  }

  /** The text holds `part`, in any case of ASCII letters. */
  contains(column: string, part: string | undefined): void {
    if (part !== undefined) this.#conditions.push(this.containsText(column, part))
  }

  /** The condition alone, for `any`. */
  containsText(column: string, part: string): string {
    const pattern = `%${part.toLowerCase().replace(/[\\%_]/g, sign => `\\${sign}`)}%`
    return `lower(${column}) like ${this.bind(pattern)} escape '\\'`
  }

  among(column: string, values: readonly string[] | undefined): void {
    if (values !== undefined) this.#conditions.push(this.amongText(column, values))
  }

  /** One of several conditions, each made with `bind` and `amongText`. */
  any(conditions: readonly string[]): void {
    this.#conditions.push(conditions.length === 0 ? '1 = 0' : `(${conditions.join(' or ')})`)
  }

  /** The condition alone, for `any`. */
  amongText(column: string, values: readonly string[]): string {
    return values.length === 0 ? '1 = 0' : `${column} in (${values.map(value => this.bind(value)).join(', ')})`
  }

  /** The place of a value in the statement. Each is used once, in order: SQLite numbers them by their appearance. */
  bind(value: StoredValue): string {
    // No row holds a NUL, and Postgres refuses it in a parameter.
    this.#values.push(typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)
    return `$${this.#values.length}`
  }

  /** Rows with a budget, in the words of the partial indexes of migration 57. */
  budgeted(): void {
    this.raw(budgetedText)
  }

  unbudgeted(): void {
    this.raw(`not ${budgetedText}`)
  }

  raw(condition: string): void {
    this.#conditions.push(condition)
  }

  #text(): string {
    return this.#conditions.length === 0 ? '' : ` where ${this.#conditions.join(' and ')}`
  }

  /** Every row; `order` = what stands behind the conditions. */
  async select<Row>(sql: SQL, table: string, order = ''): Promise<Row[]> {
    return (await sql.unsafe(`select * from ${table}${this.#text()} ${order}`, [...this.#values])) as Row[]
  }

  /** The sum of a column for each value of another, as decimal text: it may have more than 53 bits. */
  async sums(sql: SQL, table: string, by: string, column: string): Promise<{ name: string; total: string }[]> {
    const selected = `select ${by} as name, cast(sum(${column}) as text) as total`
    const text = `${selected} from ${table}${this.#text()} group by ${by}`
    return (await sql.unsafe(text, [...this.#values])) as { name: string; total: string }[]
  }

  /** The rows of one page, by `moment` and id, and the number of all rows. */
  async page<Row>(
    sql: SQL,
    table: string,
    { limit, offset = 0, after, ascending = false }: PageQuery,
    moment: string = 'created_at_ms',
  ): Promise<{ rows: Row[]; total: number }> {
    const counted = (await sql.unsafe(`select count(*) as total from ${table}${this.#text()}`, [...this.#values])) as {
      total: unknown
    }[]
    const [sign, direction] = ascending ? ['>', 'asc'] : ['<', 'desc']
    if (after) this.raw(`(${moment}, id) ${sign} (${this.bind(after.createdAtMs)}, ${this.bind(after.id)})`)
    const where = this.#text()
    const order = `order by ${moment} ${direction}, id ${direction}`
    const cut = `limit ${this.bind(limit)} offset ${this.bind(after ? 0 : offset)}`
    const rows = (await sql.unsafe(`select * from ${table}${where} ${order} ${cut}`, [...this.#values])) as Row[]
    return { rows, total: toNumber(counted[0]!.total) }
  }
}
