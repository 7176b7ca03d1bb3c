import { eachBackend, registerBackends } from "./each-backend";

test("an available backend runs the suite, another leaves a skipped test with its reason", () => {
  const seen: string[] = [];
  const skipped: string[] = [];
  const titles: string[] = [];
  registerBackends(
    [
      { name: "js", available: true },
      { name: "cuda", available: false, reason: "no device" },
    ],
    (backend) => seen.push(backend),
    {
      describe: (title, suite) => {
        titles.push(title);
        suite();
      },
      skip: (title) => skipped.push(title),
    },
  );
  expect(seen).toEqual(["js"]);
  expect(titles).toEqual(["backend js"]);
  expect(skipped).toEqual(["backend cuda is not available: no device"]);
});

const registered: string[] = [];
eachBackend((backend) => {
  registered.push(backend);
  test(`${backend} is registered once`, () => {
    expect(registered.filter((name) => name === backend)).toHaveLength(1);
  });
});

test("the JavaScript backend is always there", () => {
  expect(registered).toContain("js");
});
