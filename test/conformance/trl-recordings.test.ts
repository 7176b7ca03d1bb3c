// Steps of TRL itself, from logits to their gradient, under preset "trl": test/recordings/README.md.
import { eachBackend } from "../support/each-backend";
import { noRecordings, runRecordings } from "./trl-recordings";

eachBackend((backend) => {
  const title = `${backend}: recorded steps and their advantages come out`;
  if (noRecordings !== undefined) return test.skip(`${title}: ${noRecordings}`, () => {});
  test(title, () => {
    const cases = runRecordings(backend).flatMap((report) => report.cases);
    expect(cases.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(cases).toHaveLength(20);
  });
});
