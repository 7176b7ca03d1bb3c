// Steps of TRL itself, from logits to their gradient, under preset "trl": test/recordings/README.md.
import { eachBackend } from "../support/each-backend";
import { runRecordings } from "./trl-recordings";

eachBackend((backend) => {
  test(`${backend}: recorded steps and their advantages come out`, () => {
    const cases = runRecordings(backend).flatMap((report) => report.cases);
    expect(cases.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(cases).toHaveLength(20);
  });
});
